// Lists whose rows keep their elements when their data changes, so that no click gets lost.

/**
 * Returns `show(entries)` for `[key, value]` pairs in the order wanted. `make(key)` gives a row: its `element`, and
 * `show(value)` to update it. A row without an entry is removed.
 */
export function keyed(parent, make) {
  const rows = new Map();

  function rowOf(key) {
    if (!rows.has(key)) rows.set(key, make(key));
    return rows.get(key);
  }

  return function show(entries) {
    const wanted = new Set(entries.map(([key]) => key));
    for (const [key, { element }] of rows) {
      if (wanted.has(key)) continue;
      element.remove();
      rows.delete(key);
    }
    entries.forEach(([key, value], place) => {
      const row = rowOf(key);
      row.show(value);
      if (parent.children[place] !== row.element) parent.insertBefore(row.element, parent.children[place] ?? null);
    });
  };
}
