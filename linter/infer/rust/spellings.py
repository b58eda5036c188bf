"""The names of the standard library, by what they do to a value."""

from __future__ import annotations

OPENING = frozenset(
    [
        "unwrap",
        "expect",
        "unwrap_unchecked",
        "ok_or",
        "ok_or_else",
        "context",
        "with_context",
        "wrap_err",
        "into_inner",
        "join",
        "recv",
    ]
)
LENT = frozenset(
    [
        "as_ref",
        "as_mut",
        "as_deref",
        "as_deref_mut",
        "by_ref",
        "borrow",
        "borrow_mut",
        "lock",
        "read",
        "write",
        "deref",
        "as_slice",
        "iter",
        "get",
        "clone",
    ]
)
SAME = frozenset(
    [
        "ok",
        "map_err",
        "cloned",
        "copied",
        "to_owned",
        "into",
        "try_into",
        "to_vec",
        "err",
        "await",
        "or_else",
        "inspect_err",
        "transpose",
        "unwrap_or_default",
    ]
)
CALLING = frozenset(
    ("map", "and_then", "map_or", "map_or_else", "inspect", "is_some_and", "is_ok_and", "filter")
)
WRAPPERS = (
    OPENING
    | (LENT - {"read", "write", "get"})
    | SAME
    | CALLING
    | {"unwrap_or", "unwrap_or_else", "is_ok", "is_err"}
)
OWNERS = frozenset(
    [
        "Box::new",
        "Rc::new",
        "Arc::new",
        "RefCell::new",
        "Cell::new",
        "Mutex::new",
        "RwLock::new",
        "Pin::new",
        "Some",
        "Ok",
        "Box::pin",
        "identity",
        "Some",
        "once",
    ]
)
DROPPING = frozenset(("drop", "mem::drop"))
EMPTY = frozenset(
    [
        "Vec::new",
        "VecDeque::new",
        "HashMap::new",
        "BTreeMap::new",
        "HashSet::new",
        "BTreeSet::new",
        "Vec::with_capacity",
        "HashMap::with_capacity",
    ]
)
