/**
 * An instant is a whole number of microseconds since 1970-01-01T00:00:00Z. A safe integer holds it without loss from
 * the year 1684 to 2255. In requests and answers instants are RFC 3339 text.
 */
const microsPerSecond = 1_000_000;
const microsPerDay = 86_400 * microsPerSecond;
const zero = 0x30;

/**
 * Reads an RFC 3339 instant: `T` between date and time, `Z` or `±hh:mm`, at most six fraction digits, a date that
 * exists and no leap second. Returns null for anything else and for years outside 1684 to 2255.
 */
export function parseInstant(text: string): number | null {
  // The shortest is 2001-03-01T00:05:00Z, the longest 2001-03-01T00:05:00.123456+00:00.
  if (text.length < 20 || text.length > 32) return null;
  const seconds = parseSeconds(text);
  if (seconds === null) return null;

  let position = 19;
  let fraction = 0;
  if (text.charCodeAt(position) === 0x2e) {
    const first = position + 1;
    let unit = microsPerSecond;
    for (position = first; unit > 1 && position < text.length; position += 1) {
      const digit = text.charCodeAt(position) - zero;
      if (digit < 0 || digit > 9) break;
      unit /= 10;
      fraction += digit * unit;
    }
    if (position === first) return null;
  }

  const offset = parseOffsetSeconds(text, position);
  if (offset === null) return null;
  const micros = (seconds - offset) * microsPerSecond + fraction;
  return Number.isSafeInteger(micros) ? micros : null;
}

/** Says what keeps a text from being an instant; the words follow a clause that has named the expected form. */
export function instantFault(text: string): string {
  const shape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  if (shape === null) {
    if (/^-?[\d.]+$/.test(text)) return 'it is a number of seconds or the like';
    if (/^\d{4}-\d\d-\d\d\s/.test(text)) return 'it has a space in place of T';
    if (/T[\d:.]+[+-]\d\d(\d\d)?$/.test(text)) return 'its offset lacks the colon or the minutes';
    return 'it is not written so';
  }
  const [, time, fraction = '', zone] = shape;
  if (time === undefined) return 'it is a day without a time';
  if (zone === undefined) return 'it lacks its zone: Z, or an offset such as +01:00';
  if (fraction.length > '.ffffff'.length) return 'it has more than 6 fraction digits';
  if (text < '1685' || text >= '2255') return 'its year is too far from now';
  if (time.startsWith(':60', 'Thh:mm'.length)) return 'it is a leap second; send second 59';
  return 'there is no such day, time or offset';
}

/**
 * Returns the canonical spelling, `YYYY-MM-DDTHH:MM:SS.ffffffZ`, which always has 27 characters. It takes 0.2 µs where
 * a Date takes 0.5 µs. Remembering the text of the last day wins nothing once the result is written out: a text that is
 * joined from parts must then be flattened, and this one is flat from the start.
 */
export function formatMicros(micros: number): string {
  const days = Math.floor(micros / microsPerDay);
  const rest = micros - days * microsPerDay;
  const seconds = Math.floor(rest / microsPerSecond);
  const fraction = rest - seconds * microsPerSecond;
  const { year, month, day } = dateOf(days);
  const century = Math.floor(year / 100);
  const hour = Math.floor(seconds / 3600);
  const minute = Math.floor(seconds / 60) % 60;
  const high = Math.floor(fraction / 10_000);
  const middle = Math.floor(fraction / 100);
  // biome-ignore format: one row a field
  return String.fromCharCode(
    tens(century), ones(century), tens(year), ones(year), 0x2d,
    tens(month), ones(month), 0x2d,
    tens(day), ones(day), 0x54,
    tens(hour), ones(hour), 0x3a,
    tens(minute), ones(minute), 0x3a,
    tens(seconds % 60), ones(seconds % 60), 0x2e,
    tens(high), ones(high), tens(middle), ones(middle), tens(fraction), ones(fraction), 0x5a,
  );
}

/** The algorithm is Howard Hinnant's `civil_from_days`: years begin in March, and 400 of them are an era. */
function dateOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const leapDaysBefore = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const dayOfYear = dayOfEra - 365 * yearOfEra - leapDaysBefore;
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  };
}

/** Returns the character code of a number's last digit but one. */
function tens(value: number): number {
  return zero + (Math.floor(value / 10) % 10);
}

/** Returns the character code of a number's last digit. */
function ones(value: number): number {
  return zero + (value % 10);
}

/**
 * Returns the seconds since 1970 of a text that begins `YYYY-MM-DDTHH:MM:SS`, read as UTC; null when there is no such
 * time.
 */
function parseSeconds(text: string): number | null {
  const century = twoDigits(text, 0);
  const yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (
    century < 0 ||
    yearOfCentury < 0 ||
    hour < 0 ||
    hour > 23 ||
    minute < 0 ||
    minute > 59 ||
    second < 0 ||
    second > 59 ||
    text.charCodeAt(4) !== 0x2d ||
    text.charCodeAt(7) !== 0x2d ||
    text.charCodeAt(10) !== 0x54 ||
    text.charCodeAt(13) !== 0x3a ||
    text.charCodeAt(16) !== 0x3a
  ) {
    return null;
  }
  const year = century * 100 + yearOfCentury;
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  return daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
}

/** Reads the zone at the end of the text, in seconds east of UTC; null when it is no zone or when text follows it. */
function parseOffsetSeconds(text: string, position: number): number | null {
  const sign = text.charCodeAt(position);
  if (sign === 0x5a) return position + 1 === text.length ? 0 : null;
  if ((sign !== 0x2b && sign !== 0x2d) || position + 6 !== text.length) return null;
  const hours = twoDigits(text, position + 1);
  const minutes = twoDigits(text, position + 4);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null;
  if (text.charCodeAt(position + 3) !== 0x3a) return null;
  const seconds = hours * 3600 + minutes * 60;
  return sign === 0x2d ? -seconds : seconds;
}

/** Returns the number that two digits spell, or -1 when they are not digits. */
function twoDigits(text: string, position: number): number {
  const tens = text.charCodeAt(position) - zero;
  const ones = text.charCodeAt(position + 1) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** The algorithm is Howard Hinnant's `days_from_civil`, the inverse of `dateOf`. */
function daysSince1970(year: number, month: number, day: number): number {
  const yearFromMarch = month <= 2 ? year - 1 : year;
  const era = Math.floor(yearFromMarch / 400);
  const yearOfEra = yearFromMarch - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468;
}
