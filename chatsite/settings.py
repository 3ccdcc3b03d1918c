"""All settings, read from the environment once. Nothing else in the project reads `os.environ`.

A value that cannot be parsed prevents the start with one line that names the variable. `compression.conf` and
`conversations.checks` check the ranges of values.
"""

import contextlib
import os
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from chatsite import folders, logs, sign_in_services
from chatsite.mail_server import mailers
from conversations.runtime import private_files

BASE_DIR = folders.files()
TRUTH = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


def read(name: str, default: Any = "", parse: Callable[[str], Any] = str, what: str = "text") -> Any:
    """A variable's parsed value, or `default` if it is unset or empty.

    Raises ImproperlyConfigured for an invalid value, without printing it: it may be a secret.
    """
    value = os.environ.get(name, "").strip()
    try:
        value.encode()
        return parse(value) if value else default
    except (KeyError, ValueError):
        raise ImproperlyConfigured(f"{name} must be {what}.") from None


def switch(name: str, default: bool) -> bool:
    """A variable's value as true or false."""
    return bool(read(name, default, lambda value: TRUTH[value.lower()], "true or false"))


def listed(name: str, default: list[str]) -> list[str]:
    """A variable's values, separated by commas."""
    return list(read(name, default, lambda value: [part.strip() for part in value.split(",") if part.strip()]))


def networks(value: str) -> list[IPv4Network | IPv6Network]:
    """The networks named in a list with commas; * is all addresses. Raises ValueError."""
    everybody = value.strip() == "*"
    parts = ["0.0.0.0/0", "::/0"] if everybody else [part.strip() for part in value.split(",") if part.strip()]
    return [ip_network(part, strict=False) for part in parts]


DEBUG = switch("DEBUG", False)
ALLOWED_HOSTS = listed("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = listed("CSRF_TRUSTED_ORIGINS", [])
BEHIND_TLS = switch("BEHIND_TLS", False)
# Proxies whose X-Forwarded-For is trusted: addresses and networks; * is all.
FORWARDED_ALLOW_IPS = read("FORWARDED_ALLOW_IPS", [], networks, "addresses or networks, with commas between them")
# Signs people in by the name that these proxies put into this header.
TRUSTED_USER_HEADER = read("TRUSTED_USER_HEADER")
# Set by `manage.py serve`, the only server that knows its address here.
LISTENS_ON_LOOPBACK = False
LISTENS_AT = ""  # the address that `serve` announces; "" under another command
DATA_DIR = Path(read("DATA_DIR", folders.data())).resolve()
with contextlib.suppress(OSError):
    private_files.make_folder(DATA_DIR)
if not (DATA_DIR.is_dir() and os.access(DATA_DIR, os.W_OK)):
    raise ImproperlyConfigured(f"DATA_DIR must be a folder that can be written: {DATA_DIR}.")

private_files.make_private(DATA_DIR)

DATABASE_URL = read("DATABASE_URL")
SECRET_KEY = read("SECRET_KEY")
if not SECRET_KEY:
    if DATABASE_URL and not DATABASE_URL.startswith("sqlite"):
        raise ImproperlyConfigured("SECRET_KEY must be set where DATABASE_URL is not SQLite.")
    SECRET_KEY = private_files.read_or_make_secret(DATA_DIR / "secret_key")

try:
    # A folder's name may have characters that an address gives another meaning, such as # and %.
    in_folder = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "chatsite.sqlite3")}
    DATABASES: dict[str, Any] = {"default": {**dj_database_url.parse(DATABASE_URL)} if DATABASE_URL else in_folder}
except Exception:
    # Raise from None: the parser's own error quotes the address, password included.
    raise ImproperlyConfigured("DATABASE_URL must look like postgres://user:password@host:5432/name.") from None
if DATABASES["default"]["ENGINE"] not in ("django.db.backends.sqlite3", "django.db.backends.postgresql"):
    raise ImproperlyConfigured("DATABASE_URL must be of SQLite or PostgreSQL.")
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    private_files.make_private(*(Path(f"{DATABASES['default']['NAME']}{part}") for part in ("", "-wal", "-shm")))
# The threads of `chatsite.request_threads` keep their connections open.
DATABASES["default"] |= {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # Without IMMEDIATE, SQLite locks at the first write, and cannot wait to upgrade a lock.
        "transaction_mode": "IMMEDIATE",
        "timeout": 10,
        # Checkpoints happen in one place (`conversations.ops.maintenance`): SQLite before 3.51.3 can corrupt a
        # database if a checkpoint runs during another connection's write.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;",
    }

REDIS_URL = read("REDIS_URL")
CELERY_BROKER_URL = read("CELERY_BROKER_URL")
WEB_CONCURRENCY = read("WEB_CONCURRENCY", 1, int, "a number of processes")
ALIVE_FILE = read("ALIVE_FILE")
METRICS_TOKEN = read("METRICS_TOKEN")
# The folder in which several processes share their metrics; a single process keeps its metrics in memory.
METRICS_DIR = read("METRICS_DIR") or (str(DATA_DIR / "metrics") if REDIS_URL else "")
LOG_FORMAT = read("LOG_FORMAT", "line")
# The cache of a single process has room for the counters of a busy minute.
CACHES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 10_000}}
}
# Figures of past days are cached as pickled objects, so always in the process's own memory.
FIGURES: dict[str, Any] = {
    "figures": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "figures",
        "OPTIONS": {"MAX_ENTRIES": 50},
    }
}
if REDIS_URL:
    # Not named "default": sockets would subscribe to that layer by themselves. One message carries the events of a
    # moment for all conversations (`conversations.runtime.relay`), so that a few connections are enough.
    CHANNEL_LAYERS = {
        "relay": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_connect_timeout": 2}], "prefix": "chatsite"},
        }
    }
    CACHES = {
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "chatsite",
            # Values that cannot be read from Redis are read from the database.
            "OPTIONS": {
                "IGNORE_EXCEPTIONS": True,
                "SOCKET_CONNECT_TIMEOUT": 0.5,
                "SOCKET_TIMEOUT": 0.5,
                "CLIENT_CLASS": "chatsite.cached.Client",
                "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            },
        }
    }
    SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"
else:
    SESSION_ENGINE = "chatsite.sessions"
CACHES |= FIGURES
SESSION_SERIALIZER = "django.contrib.sessions.serializers.JSONSerializer"

INSTALLED_APPS = [
    "chatsite",  # first: it sets where the metrics of the others are kept
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "channels",
    "django_htmx",
    "conversations",
    "compression",
]
MIDDLEWARE = [
    "chatsite.middleware.Compressed",
    "chatsite.middleware.Private",
    "django.middleware.security.SecurityMiddleware",
    "chatsite.middleware.StaticFiles",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "chatsite.middleware.Language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "chatsite.sign_ins.limited",
    "conversations.admin.input_limits.InputLimits",
    *(["conversations.page.proxy_sign_in.signed_in_by_proxy"] if TRUSTED_USER_HEADER else []),
    "chatsite.middleware.api_apart",
]
ROOT_URLCONF = "chatsite.urls"
ASGI_APPLICATION = "chatsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "conversations.preferences.in_templates",
            ],
        },
    },
]

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_USER_MODEL = "conversations.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
ACCOUNT_ADAPTER = "conversations.page.account_adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_UNIQUE_EMAIL = False
SIGN_IN_SERVICES = list(sign_in_services.named(read))
OIDC_DOMAINS = listed("OIDC_DOMAINS", [])
SOCIALACCOUNT_ADAPTER = "conversations.page.account_adapters.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_PROVIDERS = sign_in_services.providers(SIGN_IN_SERVICES)
MFA_ADAPTER = "conversations.page.account_adapters.SecondStepAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {"add_webauthn": "conversations.page.passkey_forms.PasskeyForm"}
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_TOLERANCE = 1
# The server that sends mails about accounts, and their sender.
MAILERS = read("EMAIL_URL", {}, mailers, "an address such as smtps://name:password@smtp.example.org")
EMAIL_FROM = read("EMAIL_FROM", f"chatsite@{ALLOWED_HOSTS[0].lstrip('.')}" if ALLOWED_HOSTS else "")
if MAILERS and any("*" in host for host in ALLOWED_HOSTS):
    raise ImproperlyConfigured("ALLOWED_HOSTS must name the site where EMAIL_URL is set, without *: mails link to it.")
SILENCED_SYSTEM_CHECKS = [
    "mail.W001",  # a site without a mail server is a usual one
    *("security.W005", "security.W021"),  # whether other hosts of the domain speak TLS is not the site's to promise
]
PASSWORD_RESET_TIMEOUT = 3_600
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
LANGUAGES = (("en", "English"), ("de", "Deutsch"), ("es", "Español"), ("fr", "Français"), ("zh-hans", "简体中文"))
LANGUAGE_COOKIE_NAME = "chatsite_language"
# Before Django's own catalogs, which have some of the same texts.
LOCALE_PATHS = [Path(__file__).resolve().parents[1] / "conversations" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Serve static files from their folders, so that no collectstatic is needed.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 300

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
# Trusted only if BEHIND_TLS names a proxy, which must always set this header itself.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$", "^metrics$"]  # for programs beside the site, which ask it directly
SECURE_HSTS_SECONDS = read("HSTS_SECONDS", 2_592_000, int, "a number of seconds") if BEHIND_TLS else 0
SESSION_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
# docs/limits.md lists these limits and the effect of each.
MAX_BODY_BYTES = 25_000_000
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
DATA_UPLOAD_MAX_NUMBER_FILES = 10
MAX_FRAME_BYTES = 65_536
HEAD_SECONDS = read("HEAD_SECONDS", 20.0, float, "a number of seconds")
BODY_SECONDS = read("BODY_SECONDS", 120.0, float, "a number of seconds")
UNREAD_SECONDS = read("UNREAD_SECONDS", 30.0, float, "a number of seconds")
MAX_REQUESTS = read("MAX_REQUESTS", 100, int, "a whole number")
API_REQUESTS_PER_MINUTE = read("API_REQUESTS_PER_MINUTE", 1_200, int, "a whole number")
MAX_CALLS_PER_USER = read("MAX_CALLS_PER_USER", 64, int, "a whole number")
MAX_SOCKETS_PER_USER = read("MAX_SOCKETS_PER_USER", 100, int, "a whole number")

OPENAI_API_KEY = read("OPENAI_API_KEY")
OPENAI_BASE_URL = read("OPENAI_BASE_URL")
OPENAI_MODEL = read("OPENAI_MODEL")
OPENAI_FAST_MODEL = read("OPENAI_FAST_MODEL")
OPENAI_STANDARD_MODEL = read("OPENAI_STANDARD_MODEL")
OPENAI_CONTEXT_WINDOW = read("OPENAI_CONTEXT_WINDOW", None, int, "a number of tokens")
ANTHROPIC_API_KEY = read("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = read("ANTHROPIC_BASE_URL")
ANTHROPIC_MODEL = read("ANTHROPIC_MODEL")
ANTHROPIC_FAST_MODEL = read("ANTHROPIC_FAST_MODEL")
ANTHROPIC_STANDARD_MODEL = read("ANTHROPIC_STANDARD_MODEL")
# Where spans of OpenTelemetry are sent; its exporter reads this and its other variables itself.
OTEL_EXPORTER_OTLP_ENDPOINT = read("OTEL_EXPORTER_OTLP_ENDPOINT", read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
MODEL_TIMEOUT_SECONDS = read("MODEL_TIMEOUT_SECONDS", 600.0, float, "a number of seconds")
# The options that a gateway call may have beyond those that always pass, which image URLs it may contain, and whether
# passages of what was compacted of its history are quoted for its latest question.
GATEWAY_OPTIONS = listed("GATEWAY_OPTIONS", [])
GATEWAY_MODELS = listed("GATEWAY_MODELS", [])
GATEWAY_FALLBACK = listed("GATEWAY_FALLBACK", [])
GATEWAY_PASS_THROUGH = listed("GATEWAY_PASS_THROUGH", [])
GATEWAY_RETRIES = read("GATEWAY_RETRIES", 1, int, "a whole number")
GATEWAY_CORS_ORIGINS = listed("GATEWAY_CORS_ORIGINS", [])
GATEWAY_DOCUMENTS = read("GATEWAY_DOCUMENTS", "text")
GATEWAY_UNKNOWN_OPTIONS = read("GATEWAY_UNKNOWN_OPTIONS", "drop")
GATEWAY_IMAGE_URLS = read("GATEWAY_IMAGE_URLS", "provider")
GATEWAY_RECALL = switch("GATEWAY_RECALL", True)
GATEWAY_PING_SECONDS = read("GATEWAY_PING_SECONDS", 7.0, float, "a number of seconds")
BUILTIN_MODEL_PATH = DATA_DIR / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"

# Whether a model is asked for a conversation's title after its first reply.
AUTO_TITLES = switch("AUTO_TITLES", True)
# Who may make an account: "invited", or "open" for anybody who reaches the site.
SIGN_UP = read("SIGN_UP", "invited")
# The share of replies after a compaction that are compared with an answer from the whole history, and who grades them.
SHADOW_SHARE = read("SHADOW_SHARE", 0.0, float, "a share from 0 to 1")
SHADOW_JUDGE = read("SHADOW_JUDGE")
PUBLIC_LINKS = switch("PUBLIC_LINKS", True)
# Whether people may share their projects with other people of the site.
SHARED_PROJECTS = switch("SHARED_PROJECTS", False)

COMPRESSION_ENABLED = switch("COMPRESSION_ENABLED", True)
COMPRESSION_AHEAD = switch("COMPRESSION_AHEAD", True)
COMPRESSION_SUMMARY_ROLE = read("COMPRESSION_SUMMARY_ROLE", "system")
COMPRESSION_THRESHOLD = read("COMPRESSION_THRESHOLD", None, float, "a number from 0.5 to 0.95")
COMPRESSION_MAX_LIVE_TOKENS = read("COMPRESSION_MAX_LIVE_TOKENS", None, int, "a number of tokens")
COMPRESSION_STRATEGY = read("COMPRESSION_STRATEGY", "checkpoints")
COMPRESSION_KEEP_RECENT = read("COMPRESSION_KEEP_RECENT", 4, int, "a whole number")
COMPRESSION_COOLDOWN_SECONDS = read("COMPRESSION_COOLDOWN_SECONDS", 30, int, "a number of seconds")
COMPRESSION_SUMMARY_MAX_TOKENS = read("COMPRESSION_SUMMARY_MAX_TOKENS", None, int, "a number of tokens")
COMPRESSION_RECALL_MAX_TOKENS = read("COMPRESSION_RECALL_MAX_TOKENS", 6_000, int, "a number of tokens")
COMPRESSION_MIN_RETENTION = read("COMPRESSION_MIN_RETENTION", 0.0, float, "a share from 0 to 1")
LEASE_SECONDS = read("LEASE_SECONDS", 60, float, "a number of seconds")
STOP_GRACE_SECONDS = read("STOP_GRACE_SECONDS", 3, float, "a number of seconds")
MAX_TURNS = read("MAX_TURNS", 2_000, int, "a whole number")
STORAGE_PER_USER_MB = read("STORAGE_PER_USER_MB", 2_000, int, "a whole number")
MONTHLY_TOKENS_PER_USER = read("MONTHLY_TOKENS_PER_USER", 0, int, "a whole number")
MONTHLY_USD_PER_USER = read("MONTHLY_USD_PER_USER", 0.0, float, "a number of US dollars")
MAX_TURNS_PER_USER = read("MAX_TURNS_PER_USER", 8, int, "a whole number")
MAX_COMPACTIONS_PER_USER = read("MAX_COMPACTIONS_PER_USER", 4, int, "a whole number")
COMPRESSION_PARTS_AT_ONCE = read("COMPRESSION_PARTS_AT_ONCE", 4, int, "a whole number from 1 to 16")
AUDIT_DAYS = read("AUDIT_DAYS", 365, int, "a number of days")
COMPACTION_LOG_DAYS = read("COMPACTION_LOG_DAYS", 90, int, "a number of days")
TOOL_RESULT_MAX_CHARS = read("TOOL_RESULT_MAX_CHARS", 2_000, int, "a number of characters")

LOGGING = logs.config(LOG_FORMAT)
