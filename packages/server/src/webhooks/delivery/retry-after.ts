const maxSeconds = 86_400;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = `(?<month>${months.join('|')})`;
const time = '(?<time>\\d\\d:\\d\\d:\\d\\d)';
/** RFC 9110 §5.6.7: what senders write today, and two old forms that recipients must still take. */
const dateForms = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^[A-Z][a-z]+day, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/**
 * Seconds to wait by a Retry-After header (RFC 9110 §10.2.3), 0 … 86,400; null when it says nothing
 * that can be read. Dates count from our clock: a day at most is asked of it, and the receiver's may be off.
 */
export function parseRetryAfter(text: string, nowMillis: number): number | null {
  const value = text.trim();
  if (/^\d+$/.test(value)) return Math.min(Number(value), maxSeconds);
  const millis = parseHttpDate(value, nowMillis);
  if (millis === null) return null;
  return Math.min(Math.max(Math.ceil((millis - nowMillis) / 1000), 0), maxSeconds);
}

function parseHttpDate(text: string, nowMillis: number): number | null {
  for (const form of dateForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const monthNumber = months.indexOf(groups.month ?? '') + 1;
    const year = wholeYear(groups.year ?? '', nowMillis);
    const day = (groups.day ?? '').trim().padStart(2, '0');
    const iso = `${year}-${String(monthNumber).padStart(2, '0')}-${day}T${groups.time}Z`;
    const millis = Date.parse(iso);
    return Number.isNaN(millis) ? null : millis;
  }
  return null;
}

/** Two digits that would lie more than 50 years ahead are of the century before. */
function wholeYear(text: string, nowMillis: number): string {
  if (text.length === 4) return text;
  const thisYear = new Date(nowMillis).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + Number(text);
  return String(year > thisYear + 50 ? year - 100 : year);
}
