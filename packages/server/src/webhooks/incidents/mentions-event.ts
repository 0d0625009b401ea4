/** A JSON string, or a number. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Whether an incident is about one of these events: its payload has the id as a string or a number anywhere, or its
 * idempotency key contains the id as a word. The payload is read as text, because JSON.parse would change large numbers.
 */
export function mentionsEvent(
  { body, key }: { body: string | null; key: string | null },
  eventIds: ReadonlySet<string>,
): boolean {
  if (key !== null && wordsOf(key).some((word) => eventIds.has(word))) return true;
  for (const [token] of (body ?? '').matchAll(tokens)) {
    const text = token.startsWith('"') ? stringOf(token) : token;
    if (eventIds.has(text)) return true;
  }
  return false;
}

function stringOf(token: string): string {
  return token.includes('\\') ? JSON.parse(token) : token.slice(1, -1);
}

/** All parts of a key that begin and end at its ends or beside a separator: of `a:b-c`, `b`, `b-c` and `a:b` among them. */
function wordsOf(key: string): string[] {
  const cuts = [...key.matchAll(/[^A-Za-z0-9]/g)].map(({ index }) => index);
  const starts = [0, ...cuts.map((at) => at + 1)];
  const ends = [...cuts, key.length];
  return starts.flatMap((start) =>
    ends.filter((end) => end > start).map((end) => key.slice(start, end)),
  );
}
