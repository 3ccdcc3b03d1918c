"""Refusals of one optional field or form each, in the words of providers and of libraries that validate requests."""

from __future__ import annotations

from contextlib import aclosing
from time import process_time
from typing import Any

import pytest

from conversations.gateway.server_form import ServerForm
from conversations.llm.clients import client_for
from conversations.llm.port import Prompt
from conversations.llm.providers import corrections, refused_images
from conversations.llm.providers.complaints import own_words
from conversations.llm.providers.openai import OpenAICompatible
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

ANSWER: dict[str, Any] = {
    "role": "assistant", "content": "Yes.", "annotations": [], "refusal": None, "reasoning": "so",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}  # fmt: skip
BODY: dict[str, Any] = {
    "model": "m", "stream": True, "store": False, "verbosity": "low", "temperature": 0.2, "max_tokens": 100,
    "messages": [{"role": "developer", "content": "Be short."}, {"role": "user", "content": "Hi."}, ANSWER],
    "tools": [{"type": "function", "function": {"name": "read", "strict": True, "parameters": {"$schema": "x"}}}],
}  # fmt: skip
STORE = [
    ("Go", 'json: unknown field "store"'),
    (
        "serde",
        "Failed to deserialize the JSON body into the target type: unknown field `store`, expected one "
        "of `model`, `messages`, `stream` at line 1 column 900",
    ),
    (
        "Jackson",
        'Unrecognized field "store" (class com.example.ChatRequest), not marked as ignorable (12 known '
        'properties: "model", "messages", "stream"])',
    ),
    (
        "Jackson",
        'JSON parse error: Unrecognized field "store" (class com.example.ChatRequest), not marked as ignorable',
    ),
    ("Joi", '"store" is not allowed'),
    ("class-validator", '["property store should not exist"]'),
    (
        "Zod 3",
        '[{"code":"unrecognized_keys","keys":["store"],"path":[],"message":"Unrecognized key(s) in '
        "object: 'store'\"}]",
    ),
    (
        "Zod 4",
        '[{"code":"unrecognized_keys","keys":["store"],"path":[],"message":"Unrecognized key: \\"store\\""}]',
    ),
    (
        "AJV",
        '[{"instancePath":"","schemaPath":"#/additionalProperties","keyword":"additionalProperties","para'
        'ms":{"additionalProperty":"store"},"message":"must NOT have additional properties"}]',
    ),
    ("Fastify", "body must NOT have additional properties: store"),
    ("jsonschema", "Additional properties are not allowed ('store' was unexpected)"),
    ("jsonschema", "Additional properties are not allowed ('store', 'verbosity' were unexpected)"),
    ("marshmallow", '{"store": ["Unknown field."]}'),
    ("Pydantic 1", '[{"loc":["body","store"],"msg":"extra fields not permitted","type":"value_error.extra"}]'),
    (
        "Pydantic 2",
        "1 validation error for ChatRequest\nstore\n  Extra inputs are not permitted "
        "[type=extra_forbidden, input_value=False, input_type=bool]\n    For further information visit "
        "https://errors.pydantic.dev/2.11/v/extra_forbidden",
    ),
    ("Python", "Completions.create() got an unexpected keyword argument 'store'"),
    (
        "System.Text.Json",
        "The JSON property 'store' could not be mapped to any .NET member contained in type 'ChatRequest'.",
    ),
    (
        "Newtonsoft",
        "Could not find member 'store' on object of type 'ChatRequest'. Path 'store', line 1, position 220.",
    ),
    ("protobuf", 'Invalid JSON payload received. Unknown name "store": Cannot find field.'),
    ("protobuf", 'proto: (line 1:20): unknown field "store"'),
    ("msgspec", "Object contains unknown field `store`"),
    ("msgspec", "Object contains unknown field `store` - at `$`"),
    ("TypeBox", '{"path":"/store","message":"Unexpected property","value":false}'),
    (
        "Valibot",
        '[{"kind":"schema","type":"strict_object","expected":"never","received":"\\"store\\"","message":"In'
        'valid key: Expected never but received \\"store\\"","path":[{"key":"store"}]}]',
    ),
    (
        "Cloudflare",
        "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are "
        "'prompt', unevaluated properties not allowed: store",
    ),
    ("kin-openapi", 'request body has an error: doesn\'t match schema: property "store" is unsupported'),
    ("Kong", "schema violation (store: unknown field)"),
]
ANNOTATIONS = [
    ("Go", 'json: unknown field "annotations"'),
    (
        "serde",
        "messages[2]: unknown field `annotations`, expected one of `role`, `content`, `tool_calls` at "
        "line 1 column 300",
    ),
    (
        "Jackson",
        'Unrecognized field "annotations" (class com.example.Message), not marked as ignorable (through '
        'reference chain: ChatRequest["messages"]->java.util.ArrayList[2]->Message["annotations"])',
    ),
    ("Joi", '"messages[2].annotations" is not allowed'),
    ("class-validator", '["messages.2.property annotations should not exist"]'),
    (
        "Zod 3",
        '[{"code":"unrecognized_keys","keys":["annotations"],"path":["messages",2],"message":"Unrecognize'
        "d key(s) in object: 'annotations'\"}]",
    ),
    (
        "AJV",
        '[{"instancePath":"/messages/2","keyword":"additionalProperties","params":{"additionalProperty":"'
        'annotations"},"message":"must NOT have additional properties"}]',
    ),
    (
        "jsonschema",
        "Additional properties are not allowed ('annotations' was unexpected)\n\nFailed validating "
        "'additionalProperties' in schema['properties']['messages']['items']\n\nOn instance['messages'][2]:",
    ),
    ("jsonschema", "Additional properties are not allowed ('annotations' was unexpected) - 'messages.2'"),
    ("marshmallow", '{"messages": {"2": {"annotations": ["Unknown field."]}}}'),
    (
        "Pydantic 1",
        '[{"loc":["body","messages",2,"annotations"],"msg":"extra fields not permitted","type":"value_error.extra"}]',
    ),
    (
        "Pydantic 2",
        "1 validation error for ChatRequest\nmessages.2.assistant.annotations\n  Extra inputs are not "
        "permitted [type=extra_forbidden, input_value=[], input_type=list]",
    ),
    (
        "System.Text.Json",
        "The JSON property 'annotations' could not be mapped to any .NET member contained in type "
        "'Message'. Path: $.messages[2].annotations",
    ),
    (
        "protobuf",
        "Invalid JSON payload received. Unknown name \"annotations\" at 'messages[2]': Cannot find field.",
    ),
    ("msgspec", "Object contains unknown field `annotations` - at `$.messages[2]`"),
    ("TypeBox", '{"path":"/messages/2/annotations","message":"Unexpected property","value":[]}'),
    ("Python", "Message.__init__() got an unexpected keyword argument 'annotations'"),
]
PARTS = [
    (
        "Pydantic 2",
        '[{"type":"string_type","loc":["body","messages",1,"content"],"msg":"Input should be a valid '
        'string","input":[{"type":"text","text":"hi"}]}]',
    ),
    (
        "Pydantic 2",
        "1 validation error for ChatRequest\nmessages.1.content\n  Input should be a valid string "
        "[type=string_type, input_value=[{'type': 'text', 'text': 'hi'}], input_type=list]",
    ),
    ("Pydantic 2", "Input should be a valid string: body.messages.1.content"),
    ("Pydantic 1", '[{"loc":["body","messages",1,"content"],"msg":"str type expected","type":"type_error.str"}]'),
    ("Go", "json: cannot unmarshal array into Go struct field Message.messages.content of type string"),
    ("serde", "messages[1].content: invalid type: sequence, expected a string at line 1 column 54"),
    ("serde", "messages[1]: data did not match any variant of untagged enum MessageContent at line 1 column 54"),
    (
        "Jackson",
        "Cannot deserialize value of type `java.lang.String` from Array value (token "
        '`JsonToken.START_ARRAY`) (through reference chain: ChatRequest["messages"]->java.util.ArrayList['
        '1]->Message["content"])',
    ),
    ("Gson", "Expected a string but was BEGIN_ARRAY at line 1 column 60 path $.messages[1].content"),
    ("sonic", 'Mismatch type string with value array "at index 60: mismatched type with value"'),
    (
        "System.Text.Json",
        "The JSON value could not be converted to System.String. Path: $.messages[1].content | "
        "LineNumber: 0 | BytePositionInLine: 80.",
    ),
    (
        "Newtonsoft",
        "Unexpected character encountered while parsing value: [. Path 'messages[1].content', line 1, position 80.",
    ),
    ("Joi", '"messages[1].content" must be a string'),
    ("Yup", 'messages[1].content must be a `string` type, but the final value was: `[{"type": "\\"text\\""}]`.'),
    ("class-validator", '["messages.1.content must be a string"]'),
    (
        "Zod 3",
        '[{"code":"invalid_type","expected":"string","received":"array","path":["messages",1,"content"],"'
        'message":"Expected string, received array"}]',
    ),
    (
        "Zod 4",
        '[{"expected":"string","code":"invalid_type","path":["messages",1,"content"],"message":"Invalid '
        'input: expected string, received array"}]',
    ),
    (
        "AJV",
        '[{"instancePath":"/messages/1/content","keyword":"type","params":{"type":"string"},"message":"mu'
        'st be string"}]',
    ),
    ("Fastify", "body/messages/1/content must be string"),
    (
        "jsonschema",
        "[{'type': 'text', 'text': 'hi'}] is not of type 'string'\n\nFailed validating 'type' in "
        "schema['properties']['messages']['items']['properties']['content']\n\nOn "
        "instance['messages'][1]['content']:",
    ),
    ("jsonschema", "[{'type': 'text', 'text': 'hi'}] is not of type 'string' - 'messages.1.content'"),
    ("marshmallow", '{"messages": {"1": {"content": ["Not a valid string."]}}}'),
    ("Django REST", '{"messages":[{},{"content":["Not a valid string."]}]}'),
    ("protobuf", "Invalid value at 'messages[1].content' (TYPE_STRING), Starting an object on a scalar field"),
    ("protobuf", "Proto field is not repeating, cannot start list. messages[1].content"),
    ("msgspec", "Expected `str`, got `array` - at `$.messages[1].content`"),
    ("TypeBox", '{"path":"/messages/1/content","message":"Expected string","value":[{"type":"text"}]}'),
    ("Python", 'can only concatenate str (not "list") to str'),
    ("Python", "'list' object has no attribute 'strip'"),
    ("Ollama", "invalid message content type: []interface {}"),
]
NULLS = [
    (
        "Pydantic 2",
        '[{"type":"string_type","loc":["body","messages",2,"content"],"msg":"Input should be a valid '
        'string","input":null}]',
    ),
    (
        "Pydantic 2",
        "messages.2.content\n  Input should be a valid string [type=string_type, input_value=None, "
        "input_type=NoneType]",
    ),
    (
        "Pydantic 1",
        '[{"loc":["body","messages",2,"content"],"msg":"none is not an allowed '
        'value","type":"type_error.none.not_allowed"}]',
    ),
    ("serde", "messages[2].content: invalid type: null, expected a string at line 1 column 54"),
    (
        "Jackson",
        "Null value for creator property 'content' (through reference chain: "
        'ChatRequest["messages"]->java.util.ArrayList[2]->Message["content"])',
    ),
    (
        "Jackson",
        "Instantiation of [simple type, class Message] value failed for JSON property content due to "
        "missing (therefore NULL) value for creator parameter content which is a non-nullable type",
    ),
    (
        "kotlinx",
        "Unexpected JSON token at offset 30: Expected string literal but 'null' literal was found at "
        "path: $.messages[2].content",
    ),
    ("Joi", '"messages[2].content" must be a string'),
    (
        "Zod 3",
        '[{"code":"invalid_type","expected":"string","received":"null","path":["messages",2,"content"],"m'
        'essage":"Expected string, received null"}]',
    ),
    (
        "Zod 4",
        '[{"expected":"string","code":"invalid_type","path":["messages",2,"content"],"message":"Invalid '
        'input: expected string, received null"}]',
    ),
    (
        "AJV",
        '[{"instancePath":"/messages/2/content","keyword":"type","params":{"type":"string"},"message":"mu'
        'st be string"}]',
    ),
    ("Fastify", "body/messages/2/content must be string"),
    (
        "jsonschema",
        "None is not of type 'string'\n\nFailed validating 'type' in schema\n\nOn "
        "instance['messages'][2]['content']:\n    None",
    ),
    ("marshmallow", '{"messages": {"2": {"content": ["Field may not be null."]}}}'),
    ("Django REST", '{"messages":[{},{},{"content":["This field may not be null."]}]}'),
    ("msgspec", "Expected `str`, got `null` - at `$.messages[2].content`"),
    ("class-validator", '["messages.2.content should not be empty","messages.2.content must be a string"]'),
    ("ASP.NET", "The Content field is required."),
    ("Python", "'NoneType' object has no attribute 'strip'"),
    ("Python", "argument of type 'NoneType' is not iterable"),
    ("Jinja", 'can only concatenate str (not "NoneType") to str'),
]
DEVELOPER = [
    (
        "Pydantic 2",
        '[{"type":"literal_error","loc":["body","messages",0,"role"],"msg":"Input should be \'system\', '
        "'user', 'assistant' or 'tool'\",\"input\":\"developer\"}]",
    ),
    (
        "serde",
        "messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, "
        "`tool` at line 1 column 30",
    ),
    (
        "Jackson",
        'Cannot deserialize value of type `com.example.Role` from String "developer": not one of the '
        "values accepted for Enum class: [system, user, assistant, tool]",
    ),
    ("Joi", '"messages[0].role" must be one of [system, user, assistant, tool]'),
    ("class-validator", '["messages.0.role must be one of the following values: system, user, assistant, tool"]'),
    (
        "Zod 3",
        '[{"received":"developer","code":"invalid_enum_value","options":["system","user","assistant","too'
        'l"],"path":["messages",0,"role"],"message":"Invalid enum value. Expected \'system\' | \'user\' | '
        "'assistant', received 'developer'\"}]",
    ),
    (
        "Zod 4",
        '[{"code":"invalid_value","values":["system","user","assistant","tool"],"path":["messages",0,"rol'
        'e"],"message":"Invalid option: expected one of \\"system\\"|\\"user\\"|\\"assistant\\"|\\"tool\\""'
        "}]",
    ),
    (
        "AJV",
        '[{"instancePath":"/messages/0/role","keyword":"enum","params":{"allowedValues":["system","user",'
        '"assistant","tool"]},"message":"must be equal to one of the allowed values"}]',
    ),
    ("Fastify", "body/messages/0/role must be equal to one of the allowed values"),
    ("jsonschema", "'developer' is not one of ['system', 'user', 'assistant', 'tool']"),
    ("marshmallow", '{"messages": {"0": {"role": ["Must be one of: system, user, assistant, tool."]}}}'),
    ("Django REST", '{"messages":[{"role":["\\"developer\\" is not a valid choice."]}]}'),
    ("System.Text.Json", "The JSON value could not be converted to Role. Path: $.messages[0].role"),
    ("protobuf", "Invalid value at 'messages[0].role' (type.googleapis.com/Role), \"developer\""),
    ("msgspec", "Invalid enum value 'developer' - at `$.messages[0].role`"),
    ("Go", "invalid role: developer"),
    ("kotlinx", "Role does not contain element with name 'developer' at path $.messages[0].role"),
    ("Python", "'developer' is not a valid Role"),
    ("Python", "KeyError: 'developer'"),
]
EMPTY = [
    "messages: text content blocks must be non-empty",
    "messages.3: all messages must have non-empty content except for the optional final assistant message",
    "invalid request: message must be at least 1 token long or tool results must be specified.",
    "all elements in history must have a message.",
    "Invalid 'messages[3].content': string too short. Expected a string with minimum length 1, but "
    "got an empty string instead.",
    "messages[2].content: String should have at least 1 character",
    '[{"loc":["body","messages",2,"content"],"msg":"ensure this value has at least 1 '
    'characters","type":"value_error.any_str.min_length"}]',
    "messages.2.content must be longer than or equal to 1 characters",
    '"messages[2].content" is not allowed to be empty',
    '[{"code":"too_small","minimum":1,"type":"string","inclusive":true,"path":["messages",2,"content"'
    '],"message":"String must contain at least 1 character(s)"}]',
    '[{"origin":"string","code":"too_small","minimum":1,"path":["messages",2,"content"],"message":"To'
    'o small: expected string to have >=1 characters"}]',
    "body/messages/2/content must NOT have fewer than 1 characters",
    "'' is too short - 'messages.2.content'",
    "'' should be non-empty - 'messages.2.content'",
    '{"messages": {"2": {"content": ["Shorter than minimum length 1."]}}}',
    '{"messages":[{},{},{"content":["This field may not be blank."]}]}',
    "* GenerateContentRequest.contents[2].parts: contents.parts must not be empty.",
    "Assistant message must have either content or tool_calls, but not none.",
    "content不能为空",
    "messages 中 content 不能为空",
    "the message content is blank",
    "The text field in the ContentBlock object at messages.2.content.0 is blank. Add text to the "
    "text field, and try again.",
    "The content field in the Message object at messages.2 is empty. Add a ContentBlock object to "
    "the content field and try again.",
    "invalid params, messages content is empty (2013)",
    "Invalid request: the message at position 2 with role 'assistant' must not be empty",
    "Each message must have at least one content element.",
    "messages.2.content: Input should have at least 1 character",
    "Input validation error: `messages[2].content` cannot be blank",
    "content: size must be between 1 and 100000",
    "messages[2].content: must not be blank",
    "Content is required for message at index 2",
    "Field 'content' is mandatory and cannot be blank",
    "Message content must be a non-empty string",
    "Unable to submit request because it must have a text parameter. Learn more: https://cloud.google.com/vertex-ai",
    "Unable to submit request because at least one contents field is required",
    "Unable to submit request because it has an empty text parameter. Learn more: https://cloud.google.com/vertex-ai",
    "Expected `str` of length >= 1 - at `$.messages[2].content`",
    "The field Content must be a string with a minimum length of 1",
    "Value for 'messages[2].content' is an empty string",
    "toolResult content is empty",
    "messages.3.content.0.tool_result: content cannot be empty",
    "Tool message content must be provided",
    "Received empty message content at index 2",
]
LONG_IDS = [
    "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.",
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length "
    "40, but got a string with length 75 instead.",
    "1 validation error detected: Value 'x' at 'messages.2.member.content.1.member.toolUse.toolUseId'"
    " failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    "1 validation error detected: Value at 'messages.2.member.content.1.member.toolUse.toolUseId' "
    "failed to satisfy constraint: Member must have length less than or equal to 64",
    "1 validation error detected: Value at 'messages.3.member.content.1.member.toolResult.toolUseId' "
    "failed to satisfy constraint: Member must have length less than or equal to 64",
    '[{"type":"string_too_long","loc":["body","messages",1,"tool_calls",0,"id"],"msg":"String should '
    'have at most 40 characters"}]',
    '[{"type":"string_pattern_mismatch","loc":["body","messages",2,"tool_call_id"],"msg":"String '
    "should match pattern '^[a-zA-Z0-9]{9}$'\"}]",
    "tool_call_id must be shorter than or equal to 40 characters",
    '"messages[1].tool_calls[0].id" length must be less than or equal to 40 characters long',
    "body/messages/1/tool_calls/0/id must NOT have more than 40 characters",
]
NAMES = [
    "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches "
    "the pattern '^[a-zA-Z0-9_-]+$'.",
    "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    "tools.0.custom.name: String should have at most 128 characters",
    "1 validation error detected: Value 'mcp.read' at 'toolConfig.tools.1.member.toolSpec.name' "
    "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    "1 validation error detected: Value 'mcp.read' at 'toolConfig.tools.1.member.toolSpec.name' "
    "failed to satisfy constraint: Member must have length less than or equal to 64",
    "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, "
    "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
    '[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[0].name'
    ': Invalid function name. Must start with a letter or an underscore."}}]',
    "invalid request: tool name must match ^[a-zA-Z0-9_]+$",
    "'tools.0.function.name' does not match '^[a-zA-Z0-9_-]{1,64}$'",
    "'mcp.read file' does not match '^[a-zA-Z0-9_-]{1,64}$' - 'tools.0.function.name'",
    "Function name was mcp.read file but must be a-z, A-Z, 0-9, or contain underscores and dashes, "
    "with a maximum length of 64.",
    'body/tools/0/function/name must match pattern "^[a-zA-Z0-9_-]+$"',
    '[{"type":"string_pattern_mismatch","loc":["body","tools",0,"function","name"],"msg":"String '
    "should match pattern '^[a-zA-Z0-9_-]+$'\"}]",
    '"tools[0].function.name" with value "mcp.read" fails to match the required pattern: /^[a-zA-Z0-9_-]+$/',
    '{"tools": {"0": {"function": {"name": ["String does not match expected pattern."]}}}}',
    "tools[0].function.name must match /^[a-zA-Z0-9_-]+$/ regular expression",
    '[{"code":"invalid_string","validation":"regex","path":["tools",0,"function","name"],"message":"Invalid"}]',
    "Invalid tool name: mcp.read file",
    "messages[1].tool_calls[0].function.name: string does not match pattern",
]
SCHEMAS = [
    "Invalid schema for function 'x': schema must have type 'object' and not have "
    "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    "1 validation error detected: The value at toolConfig.tools.0.toolSpec.inputSchema.json.type "
    "must be one of the following: object.",
    "The json schema definition at toolConfig.tools.0.toolSpec.inputSchema is invalid. Fix the "
    "following errors and try again: $.properties.a.type: should be string",
    "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].type: must be specified",
    'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[0].parame'
    "ters.properties[0].value': Cannot find field.",
    "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].format: "
    "only 'enum' and 'date-time' are supported for STRING type",
    "Unable to submit request because `read` functionDeclaration `parameters.a` schema didn't "
    "specify the schema type field.",
    "Proto field is not repeating, cannot start list. tools[0].function_declarations[0].parameters.pr"
    "operties[0].value.type",
    "Invalid value at 'tools[0].function_declarations[0].parameters.properties[0].value' (type), "
    "Proto field is not repeating, cannot start list.",
    'unknown field "additionalProperties" in tools[0].function.parameters',
    "Unsupported JSON schema feature: 'anyOf'",
    'Grammar error: Unimplemented keys: ["format"]',
    "Failed to convert the tools to a grammar: unsupported type array",
    'Unrecognized schema: {"type":["string","null"]}',
    "failed to parse grammar",
    "Invalid tool schema: anyOf is not supported",
    "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.type of type string",
    "tools[0].function.parameters: type 'null' is not supported",
    "tool parameters schema is invalid",
]
EFFORTS = [
    "reasoning_effort: Input should be 'low', 'medium' or 'high'",
    '[{"type":"literal_error","loc":["body","reasoning_effort"],"msg":"Input should be \'low\', '
    '\'medium\' or \'high\'","input":"xhigh"}]',
    '[{"loc":["body","reasoning_effort"],"msg":"unexpected value; permitted: \'low\', \'medium\', '
    '\'high\'","type":"value_error.const"}]',
    '[{"loc":["body","reasoning_effort"],"msg":"value is not a valid enumeration member; permitted: '
    "'low', 'medium', 'high'\",\"type\":\"type_error.enum\"}]",
    '[{"code":"invalid_value","values":["low","medium","high"],"path":["reasoning_effort"],"message":'
    '"Invalid option: expected one of \\"low\\"|\\"medium\\"|\\"high\\""}]',
    '[{"received":"xhigh","code":"invalid_enum_value","options":["low","medium","high"],"path":["reas'
    "oning_effort\"],\"message\":\"Invalid enum value. Expected 'low' | 'medium' | 'high', received "
    "'xhigh'\"}]",
    '"reasoning_effort" must be one of [low, medium, high]',
    '["reasoning_effort must be one of the following values: low, medium, high"]',
    '[{"instancePath":"/reasoning_effort","keyword":"enum","params":{"allowedValues":["low","medium",'
    '"high"]},"message":"must be equal to one of the allowed values"}]',
    "'xhigh' is not one of ['low', 'medium', 'high'] - 'reasoning_effort'",
    '{"reasoning_effort": ["Must be one of: low, medium, high."]}',
    "reasoning_effort: unknown variant `xhigh`, expected one of `low`, `medium`, `high` at line 1 column 90",
    "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported "
    "values are: 'low', 'medium', and 'high'.",
    'Cannot deserialize value of type `com.example.Effort` from String "xhigh": not one of the '
    "values accepted for Enum class: [low, medium, high] (through reference chain: "
    'ChatRequest["reasoning_effort"])',
    "reasoning_effort must be low, medium or high",
    "invalid value for reasoning_effort: must be one of none, low, high",
]
UNKNOWN_EFFORT = [
    "body/reasoning_effort must be equal to one of the allowed values",
    '{"reasoning_effort":["\\"xhigh\\" is not a valid choice."]}',
    "Invalid enum value 'xhigh' - at `$.reasoning_effort`",
    "Invalid value at 'reasoning_effort' (type.googleapis.com/Effort), \"xhigh\"",
    "The JSON value could not be converted to Effort. Path: $.reasoning_effort",
    "invalid reasoning_effort: xhigh",
    "reasoning effort 'xhigh' is not supported by this model",
    "The value xhigh of reasoning_effort is not valid",
    "Unrecognized reasoning effort: xhigh",
    "reasoning.effort: invalid value xhigh",
    "thinking level xhigh is not supported",
    "Thinking level is not supported for this model.",
    "reasoning_effort=xhigh is only available on pro models",
    "Reasoning effort xhigh not available",
]
IMAGES = [
    "No endpoints found that support image input",
    "This model does not support image input",
    "Invalid content type. image_url is only supported by certain models.",
    "messages[0].content[1].type must be 'text'",
    "messages.0.content.1.type: Input should be 'text'",
    "unknown variant `image_url`, expected `text`",
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    "Image URLs are not supported for this model",
    "This model does not accept images",
    "The model qwen3-8b is not a multimodal model",
    "qwen3-8b is not a multimodal model",
    "At most 0 image(s) may be provided in one request.",
    "'messages[0].content' : image content is not supported by this model",
    "Model does not support vision",
    "Vision capability is not available for this model",
    "The provided model does not support images",
    "ValidationException: This model doesn't support the image content block. Please remove it and try again.",
    "Content type 'image_url' is not supported",
    "multimodal content is not supported",
    "content part of type image_url not allowed",
    "messages: user content must be text only",
    "Only text content is supported",
    "当前模型不支持图片输入",
    "该模型不支持多模态输入",
    "images are not supported by this model",
    "Unsupported content part type: image_url",
    "Unexpected message content type: image_url",
    "this model is missing data required for image input",
    "model does not support image inputs",
    '{"messages": {"0": {"content": ["Unsupported type image_url"]}}}',
    "invalid_request_error: image_url is not supported in messages",
]
MANY_IMAGES = [
    "At most 1 image(s) may be provided in one request.",
    "Too many images provided. This model supports up to 5 images",
    "messages: too many images and documents: 101 > 100",
    "At most 5 images are allowed",
    "Exceeded maximum number of images (5)",
    "Request contains 8 images, the maximum is 5",
    "max images per request: 10",
    "too many image_url parts, limit is 8",
    "The number of images exceeds the limit of 10",
    "Images limit exceeded",
]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
LONG = {"id": "call_" + "x" * 70, "type": "function", "function": {"name": "mcp.read file", "arguments": "{}"}}
CALLING = BODY | {
    "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "So.", "tool_calls": [LONG]}],
    "tools": [{"type": "function", "function": {"name": "mcp.read file", "parameters": {"$schema": "x", "anyOf": []}}}],
}


def with_content(content: object) -> dict[str, Any]:
    return BODY | {"messages": [*BODY["messages"], {"role": "user", "content": content}]}


@pytest.mark.parametrize("complaint", [one for _, one in STORE], ids=[library for library, _ in STORE])
def test_an_unknown_field_is_left_out(complaint: str) -> None:
    assert corrections.named_in(complaint, BODY, status=400) is None
    for words in (complaint, own_words(complaint, BODY)):
        form = ServerForm().after(words, BODY, status=400)
        assert form is not None and "store" in form.omitted <= {"store", "verbosity"}


@pytest.mark.parametrize(
    ("name", "body", "complaint"),
    [
        pytest.param(name, body, complaint, id=f"{name}-{library}")
        for name, body, rows in (
            ("known fields", BODY, ANNOTATIONS),
            ("no parts", with_content([{"type": "text", "text": "A"}]), PARTS),
            ("no nulls", with_content(None), NULLS),
            ("no developer", BODY, DEVELOPER),
            ("contents", with_content(""), enumerate(EMPTY)),
            ("short ids", CALLING, enumerate(LONG_IDS)),
            ("fitting names", CALLING, enumerate(NAMES)),
            ("plain schemas", CALLING, enumerate(SCHEMAS)),
            ("no images", with_content([IMAGE]), enumerate(IMAGES)),
        )
        for library, complaint in rows
    ],
)
def test_messages_and_tools_take_the_form_that_a_server_asks_for(
    name: str, body: dict[str, Any], complaint: str
) -> None:
    for words in (complaint, own_words(complaint, body)):
        assert corrections.named_in(words, body, status=400) == name
    sent = corrections.corrected(body, frozenset({name}))
    assert corrections.named_in(complaint, sent, status=400) != name, "once"


@pytest.mark.parametrize(
    ("complaint", "meant"),
    [*((complaint, {"reasoning_effort": "high"}) for complaint in EFFORTS), *((one, {}) for one in UNKNOWN_EFFORT)],
)
def test_an_effort_becomes_the_nearest_that_is_listed_or_is_left_out(complaint: str, meant: dict[str, str]) -> None:
    form = ServerForm().after(complaint, {"messages": [], "reasoning_effort": "xhigh"}, status=400)
    assert form is not None and form.applied({"reasoning_effort": "xhigh"}) == meant


@pytest.mark.parametrize("complaint", MANY_IMAGES)
def test_a_limit_of_images_is_not_taken_for_a_model_without_eyes(complaint: str) -> None:
    assert refused_images.some_are_refused(400, complaint)
    assert corrections.named_in(complaint, with_content([IMAGE]), status=400) is None


async def test_a_refusal_of_any_length_is_read_at_once(llm: LlmServer) -> None:
    llm.enqueue(status=400, message="max_tokens must be at most 50. " + "max_tokens " * 9_000)
    model = OpenAICompatible(name="Writer", model="m", base_url=llm.url, api_key="k", timeout=5, max_tokens=100)
    await client_for("openai", llm.url, "k")  # its import is not measured
    began = process_time()
    async with aclosing(model.stream(Prompt(({"role": "user", "content": "Hi."},)))) as deltas:
        assert [delta.text async for delta in deltas]
    assert llm.last_request.body["max_tokens"] == 50
    assert process_time() - began < 0.4


def test_one_complaint_about_lists_and_nulls_leads_to_both_forms() -> None:
    body = with_content([{"type": "text", "text": "A"}])
    body["messages"].append({"role": "assistant", "content": None})
    names: list[str] = []
    while name := corrections.named_in("messages.3.content must be a string", body, status=400):
        names.append(name)
        body = corrections.corrected(body, frozenset(names))
    assert names == ["no parts", "no nulls"]
