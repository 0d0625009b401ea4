// Days are text, `YYYY-MM-DD`. A page of the tree asks for thousands of them: where text will do, no Date
// is made of it, which took ten times as long.

const dayMillis = 86_400_000;

export function dayAfter(day: string): string {
  const number = dayOfMonth(day);
  if (number < 28) return `${day.slice(0, 8)}${twoDigits(number + 1)}`;
  return new Date(Date.parse(day) + dayMillis).toISOString().slice(0, 10);
}

export function dayBefore(day: string): string {
  return new Date(Date.parse(day) - dayMillis).toISOString().slice(0, 10);
}

/** The first day of a day's month. */
export function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`;
}

export function firstOfNextMonth(day: string): string {
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7));
  return month === 12
    ? `${String(year + 1).padStart(4, '0')}-01-01`
    : `${day.slice(0, 5)}${twoDigits(month + 1)}-01`;
}

/** How many days there are from one to before another, two more or less for each month between them. */
export function daysBetween(from: string, until: string): number {
  return dayNumber(until) - dayNumber(from);
}

function dayNumber(day: string): number {
  return (
    Number(day.slice(0, 4)) * 365 + Math.round(Number(day.slice(5, 7)) * 30.42) + dayOfMonth(day)
  );
}

function dayOfMonth(day: string): number {
  return Number(day.slice(8));
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
