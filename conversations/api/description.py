"""The description of the API as a whole, in Markdown, which a programmer reads first."""

from __future__ import annotations

ABOUT = """\
Everything that the chat page does, for programs: JSON in, JSON out, UTF-8. Conversations never hit the context wall:
where one fills its model's window, its older part is compacted into a summary, and the originals stay.

**Authentication.** `Authorization: Bearer <key>`. A key is made on the settings page, or by
`manage.py create_api_key USERNAME`, and shown once. The page's own session works too; what changes something then needs
the `X-CSRFToken` header. Another person's objects are 404, as those that do not exist.

**Errors** are `{"error": {"code", "message", "detail"}}` with the right status: `code` is for programs, `message` a
sentence for people, `detail` the figures behind both. Nothing of a refused request is stored.

**Lists** are `{"items": [], "next": cursor or null}`. Give `next` back as `cursor` for the page that follows; what a
cursor looks like may change.

**Sending twice.** A message with a `client_id` is stored once, however often it is sent: the same id with the same
content is answered with the same message (200 in place of 201), with other content it is 409.

**Throttles.** 1,200 requests a minute for each person, unless the site's settings say otherwise; beyond that 429 with
`Retry-After`. So are too many replies at once, too many compactions, and too many wrong keys from one address.

**Text** is any Unicode but NUL and halves of surrogate pairs. Times are ISO 8601 in UTC. Tokens are the model's.
Bodies are strict: a field that there is not is refused, as are numbers in quotes and keys that come twice. Answers may
get new fields.
"""
TAGS = [
    {"name": "conversations", "description": "Make, list, search, read, change and delete them."},
    {"name": "projects", "description": "Folders of conversations with instructions of their own."},
    {"name": "messages", "description": "Read what was said, say something, go another way from there."},
    {"name": "agents", "description": "Tasks that an agent's planner handed to executors."},
    {"name": "events", "description": "What happens in a conversation, as it happens."},
    {"name": "goal", "description": "What a conversation is to reach: never compacted, in every request."},
    {"name": "ledger", "description": "What its person typed as rules, preferences, decisions and corrections."},
    {"name": "context", "description": "What the model sees, and what is done to it: compactions, and the way back."},
    {"name": "files", "description": "Conversations out and in."},
    {"name": "models", "description": "What conversations can be had with."},
    {"name": "usage", "description": "What one's conversations have cost and saved."},
]
