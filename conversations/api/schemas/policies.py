"""A conversation's own settings of compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from compression.policy_fields import FIELDS, PolicyField
from conversations.api.schemas.fields import LooksLike
from conversations.context.policy import checked_policy

KINDS: dict[str, Any] = {"switch": bool, "share": float, "whole": int, "level": int, "name": str, "template": str}


def _schema(field: PolicyField) -> Any:
    """The type and the description that pydantic makes a property of."""
    if field.also:
        number = Annotated[int, Field(ge=field.low, le=field.high)]
        return number | Literal[field.also] | None, Field(default=None, description=field.about)
    kind = Literal[tuple(field.choices)] if field.kind == "choice" else KINDS[field.kind]
    bounds: dict[str, Any] = {}
    if kind is str:
        bounds = {"max_length": int(field.high)}
    elif field.high:
        bounds = {"ge": field.low, "le": field.high}
    return kind | None, Field(default=None, description=field.about, **bounds)


if TYPE_CHECKING:

    class PolicySettings(BaseModel): ...

else:
    PolicySettings = create_model(
        "PolicySettings",
        __config__=ConfigDict(extra="forbid", json_schema_extra={"example": {"threshold": 0.7, "keep_recent": 6}}),
        __doc__="What is not named, or null, is as the site has it.",
        __module__=__name__,
        **{field.name: _schema(field) for field in FIELDS},
    )


Policy = Annotated[dict[str, Any], AfterValidator(checked_policy), LooksLike(PolicySettings)]
