"""An OpenAPI document as a judge of requests and answers.

Numbers with a point are Decimals throughout, so that "at most three decimals" is exact.
"""
import decimal
import json
import re

import jsonschema
import yaml

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


class Loader(yaml.SafeLoader):
    """YAML with Decimals for floats."""


Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: decimal.Decimal(loader.construct_scalar(node)))


def parse(text):
    return json.loads(text, parse_float=decimal.Decimal)


def text_of(value):
    """JSON with Decimals as they are."""
    if isinstance(value, (decimal.Decimal, float)):
        return format(value, "f") if isinstance(value, decimal.Decimal) else repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


class Document:
    """`prefix`: what comes before the document's paths in a request's path."""

    def __init__(self, path, prefix):
        with open(path, encoding="utf-8") as file:
            self.root = yaml.load(file, Loader)
        self.prefix = prefix
        self.resolver = jsonschema.RefResolver("", self.root)

    def follow(self, value):
        while isinstance(value, dict) and set(value) == {"$ref"}:
            _, value = self.resolver.resolve(value["$ref"])
        return value

    def operations(self):
        """(method, path, operation) of each."""
        for path, item in self.root["paths"].items():
            for method in METHODS:
                if method in item:
                    yield method.upper(), path, item[method]

    def operation(self, method, path):
        """None: the document has no such path or method."""
        if not path.startswith(self.prefix):
            return None
        return self.root["paths"].get(path[len(self.prefix):], {}).get(method.lower())

    def faults(self, schema, value, where):
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        return [f"{where}{''.join(f'.{p}' for p in e.absolute_path)}: {e.message}" for e in validator.iter_errors(value)]

    # ---- the document itself ----

    def own_faults(self):
        """What is wrong with the document: references, schemas, examples that do not fit their schemas."""
        found = []
        if not re.fullmatch(r"3\.1\.\d+", self.root.get("openapi", "")):
            found.append("openapi: not 3.1")
        ids = [o.get("operationId") for _, _, o in self.operations()]
        if None in ids or len(set(ids)) != len(ids):
            found.append("operationId: missing, or given twice")
        tags = {tag["name"] for tag in self.root.get("tags", [])}
        for method, path, operation in self.operations():
            where = f"{method} {path}"
            if not set(operation.get("tags", [])) <= tags or not operation.get("summary"):
                found.append(f"{where}: an unknown tag, or no summary")
            if not operation.get("responses"):
                found.append(f"{where}: no responses")
        used = set()
        self.visit(self.root, "", found, used)
        for kind, entries in self.root.get("components", {}).items():
            for name in entries:
                place = f"#/components/{kind}/{name}"
                if place not in used and not re.search(r"\b" + re.escape(f"components.{kind}.{name}"), str(self.root["info"])):
                    found.append(f"{place} is not used")
        return found

    def visit(self, value, place, found, used):
        if isinstance(value, list):
            for i, element in enumerate(value):
                self.visit(element, f"{place}/{i}", found, used)
        if not isinstance(value, dict):
            return
        if isinstance(value.get("$ref"), str):
            used.add(value["$ref"])
            try:
                self.resolver.resolve(value["$ref"])
            except jsonschema.RefResolutionError as error:
                found.append(f"{place}: {error}")
        if "schema" in value:
            try:
                jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(value["schema"], default=float)))
            except jsonschema.SchemaError as error:
                found.append(f"{place}/schema: {error.message}")
            shown = [e["value"] for e in value.get("examples", {}).values()] + [value[k] for k in ("example",) if k in value]
            for example in shown:
                found += self.faults(value["schema"], example, f"{place}: example")
        for key, element in value.items():
            if key not in ("example", "examples"):
                self.visit(element, f"{place}/{key}", found, used)

    # ---- requests and answers ----

    def request_faults(self, method, path, query, headers, body):
        """What the document does not allow. `query` has texts; `body` is None or parsed JSON."""
        operation = self.operation(method, path)
        if operation is None:
            return [f"{method} {path} is not in the document"]
        found, rest = [], dict(query)
        for parameter in map(self.follow, operation.get("parameters", [])):
            name, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "header":
                given = {k.lower(): v for k, v in headers.items()}.get(name.lower())
            elif parameter.get("explode"):
                continue
            else:
                given = rest.pop(name, None)
            if given is not None:
                found += self.faults(schema, self.typed(schema, given), name)
            elif parameter.get("required"):
                found.append(f"{name} is missing")
        for parameter in map(self.follow, operation.get("parameters", [])):
            if parameter.get("explode"):
                schema = parameter["schema"]
                found += self.faults(schema, {k: self.number(v) for k, v in rest.items()}, parameter["name"])
                rest = {}
        found += [f"{name} is not described" for name in rest]
        content = operation.get("requestBody", {}).get("content")
        if content is None:
            return found + (["a body is not described"] if body is not None else [])
        given = {k.lower(): v for k, v in headers.items()}.get("content-type")
        if given not in content:
            return found + [f"Content-Type {given} is not described"]
        return found + self.faults(content[given]["schema"], body, "body")

    def typed(self, schema, text):
        return self.number(text) if self.follow(schema).get("type") in ("integer", "number") else text

    @staticmethod
    def number(text):
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        return decimal.Decimal(text) if re.fullmatch(r"-?\d+\.\d+", text) else text

    def answer(self, method, path, status):
        """The description of the answer; None: there is none."""
        operation = self.operation(method, path)
        return None if operation is None else self.follow(operation["responses"].get(str(status)))

    def answer_faults(self, described, headers, body):
        """`described`: from answer(), or one of the document's components. `body`: bytes."""
        found = []
        given = {k.lower(): v for k, v in headers.items()}
        for name, header in described.get("headers", {}).items():
            header = self.follow(header)
            text = given.get(name.lower())
            if text is not None:
                found += self.faults(header["schema"], self.typed(header["schema"], text), name)
            elif header.get("required"):
                found.append(f"{name} is missing")
        content = described.get("content")
        if content is None:
            return found + ([f"a body is not described: {body[:200]}"] if body else [])
        kind = given.get("content-type", "").split(";")[0].strip()
        if kind not in content:
            return found + [f"Content-Type {kind} is not described: {body[:200]}"]
        try:
            return found + self.faults(content[kind]["schema"], parse(body), "body")
        except ValueError as error:
            return found + [f"no JSON: {error}: {body[:200]}"]
