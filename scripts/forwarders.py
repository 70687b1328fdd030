#!/usr/bin/env python3
"""Counts the functions that only forward, and the traits that describe a database.

    scripts/forwarders.py [--places]      (from the project's root)

A function only forwards if its whole body is one call of a function or method of the same name: `fn x(&self, a: A) -> B {
self.inner.x(a) }`. What is wrapped around the call counts as nothing: `.await`, `?`, `Ok(…)`, `Some(…)`, `Box::pin(…)`, `Box::new(…)`,
`async { … }`, `async move { … }`. Test code is left out, and so are implementations of traits of the standard library (`Drop`,
`fmt::Display`, …), whose methods have the names they have.

A trait describes a database if it is implemented in the folders of two databases or more (`mysql`, `postgresql`, `mongodb`, `sqlite`), or
once for all that speak SQL and once for a database.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

DATABASES = ["mysql", "postgresql", "mongodb", "sqlite"]
STANDARD = re.compile(
    r"\b(Debug|Display|Drop|Deref|DerefMut|Iterator|ExactSizeIterator|Future|Read|Write|Hash|Hasher|PartialEq|Eq|PartialOrd|Ord|From"
    r"|Clone|Default|FromStr|Serialize|Deserialize|Visitor|Error|AsRef|Borrow|Subscriber|Signer|SigningKey|ServerCertVerifier"
    r"|ClientSessionStore|ResolvesClientCert|SupportedKxGroup|ActiveKeyExchange|Add|Sub|Sum|AsFd|AsRawFd|Extend|IntoIterator)\b(<|$|\s)"
)


def blank(text):
    """The code with comments and literals made blank, as long as it was."""
    pattern = re.compile(
        r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'", re.S
    )
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(text, start):
    """Index of the bracket that closes the one at `start`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, []
    for index in range(start, len(text)):
        if text[index] in pairs:
            depth.append(pairs[text[index]])
        elif depth and text[index] == depth[-1]:
            depth.pop()
            if not depth:
                return index
    return len(text) - 1


def without_tests(text):
    """The code with what is under `#[cfg(test)]` made blank."""
    for found in re.finditer(r"#\[cfg\((?:test|any\(test[^\]]*)\)\]", text):
        body = re.compile(r"[;{]").search(text, found.end())
        if body:
            end = closing(text, body.start()) if body.group() == "{" else body.start()
            text = text[: found.start()] + re.sub(r"[^\n]", " ", text[found.start() : end + 1]) + text[end + 1 :]
    return text


def sources():
    names = subprocess.run(["git", "ls-files", "crates/*/src/*.rs"], capture_output=True, text=True, check=True).stdout.split()
    names = [name for name in names if Path(name).exists() and not re.search(r"/(tests|real_servers)(/|\.rs)|/(bench|testkit|report-check)/", name)]
    texts = {name: blank(Path(name).read_text()) for name in names}
    only_tests = set()
    for name, text in texts.items():
        path = Path(name)
        home = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
        modules = re.findall(r"#\[cfg\((?:test|any\(test[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);", text)
        only_tests |= {str(home / module) for module in modules}
    is_test = lambda name: any(name == f"{module}.rs" or name.startswith(f"{module}/") for module in only_tests)
    return {name: without_tests(text) for name, text in texts.items() if not is_test(name)}


def unwrapped(body):
    """A body without what stands around its call."""
    while True:
        before, body = body, body.strip().rstrip(";").strip()
        body = re.sub(r"(\s*\.\s*await|\?)$", "", body).strip()
        for wrapper in [r"(?:Ok|Some|Box::pin|Box::new|Rc::new|Arc::new)\s*\(", r"async(?:\s+move)?\s*\{", r"return\b\s*()"]:
            found = re.match(wrapper, body)
            if found and body[found.end() - 1] in "({" and closing(body, found.end() - 1) == len(body) - 1:
                body = body[found.end() : -1]
            elif found and found.groups():
                body = body[found.end() :]
        if body == before:
            return body


def only_forwards(name, body):
    body = unwrapped(body)
    if not body.endswith(")"):
        return False
    # One path or chain of fields, the name, and its arguments.
    call = re.match(rf"(?P<on>[&*]*[\w:<>&\[\]., \n]*?(?:\([^()]*\)[\w.\s]*?)?)(?P<name>\b{name})\s*(?:::<[^()]*>)?\s*\(", body)
    if not call or closing(body, call.end() - 1) != len(body) - 1:
        return False
    # An argument that is worked out is work.
    arguments = body[call.end() : -1]
    return not re.search(r"\bmatch\b|\bif\b|=>|\|", arguments)


def forwarders(texts):
    for name, text in texts.items():
        impls = [(found.start(), closing(text, found.end() - 1), found.group(1)) for found in re.finditer(r"\bimpl\b([^{;]*)\{", text)]
        for found in re.finditer(r"\bfn\s+(\w+)", text):
            body = re.compile(r"[;{]").search(text, found.end())
            if not body or body.group() == ";":
                continue
            around = [of for start, end, of in impls if start < found.start() < end]
            of_trait = around and re.split(r"\bfor\b", re.sub(r"^\s*<.*?>\s", "", around[-1]))
            if of_trait and len(of_trait) > 1 and STANDARD.search(of_trait[0]):
                continue
            inside = text[body.end() : closing(text, body.start())]
            if only_forwards(found.group(1), inside):
                yield name, text.count("\n", 0, found.start()) + 1, found.group(1)


def traits(texts):
    defined, of_database, of_generic = {}, defaultdict(set), defaultdict(int)
    for name, text in texts.items():
        for found in re.finditer(r"\btrait\s+(\w+)[^{;]*\{", text):
            body = text[found.end() : closing(text, found.end() - 1)]
            crate = name.split("/")[1]
            defined[(crate, found.group(1))] = (name, len(re.findall(r"\bfn\s", body)))
    for name, text in texts.items():
        crate = name.split("/")[1]
        for found in re.finditer(r"\bimpl\b\s*(?:<[^{]*?>\s*)?((?:\w+::)*)(\w+)(?:<[^{]*?>)?\s+for\s", text):
            module, trait = found.groups()
            home = [key for key in defined if key[1] == trait]
            home = [key for key in home if key[0] == crate] or home
            if not home:
                continue
            key = ("wire", trait) if "client" in module or "wire" in module else home[0]
            folder = [part for part in DATABASES if f"/{part}/" in name or f"/{part}." in name]
            of_database[key] |= set(folder)
            of_generic[key] += bool(re.search(r"/sql[/.]", name))
    for key, folders in sorted(of_database.items()):
        if len(folders) > 1 or (folders and of_generic[key]):
            yield key, defined[key]


texts = sources()
found = list(forwarders(texts))
if "--places" in sys.argv:
    for name, line, function in found:
        print(f"{name}:{line} {function}")
print(f"functions that only forward: {len(found)}")
described = list(traits(texts))
print(f"traits that describe a database: {len(described)}")
for (crate, trait), (name, methods) in described:
    print(f"  {crate}::{trait} ({name}), functions: {methods}")
