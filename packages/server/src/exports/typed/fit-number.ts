/** How many digits a decimal of Parquet has at most, before and behind its point together. */
export const mostDigits = 38;

/** Whether the spelling of a number is that of an integer of 64 bits. */
export function isBigint(text: string): boolean {
  if (!/^-?\d{1,19}$/.test(text) || text === '-0') return false;
  return text.length < 19 || BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/** How many digits a number has before and behind its point, outer zeros aside; null when it has an exponent. */
export function decimalDigits(text: string): { whole: number; scale: number } | null {
  const [, whole = '', fraction = ''] = /^-?(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '') return null;
  return { whole: whole === '0' ? 0 : whole.length, scale: fraction.replace(/0+$/, '').length };
}
