// Numbers of JSON have any number of digits and any exponent, and neither doubles nor the types of databases hold them all.
// So they are compared as texts, their keys, which order by their bytes as the numbers do: the sign, where the point
// stands, and the digits without zeros at either end. 5, 5.0 and 0.5E1 have one key.

/** Added to the place of the point, so that it always has eleven digits. */
export const shift = 20_000_000_000;
/**
 * Of an exponent so many digits count. One that is longer stands for a number that is larger, or smaller, than all that a
 * `where` can say.
 */
export const exponentDigits = 10;
const mostExponent = 10 ** exponentDigits - 1;
export const [digits, complements] = ['0123456789', '9876543210'];

/** Returns the key of a number of JSON. */
export function numberKey(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^-/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const significant = `${whole}${fraction}`.replace(/^0+/, '');
  if (significant === '') return '1';
  const bounded = Math.max(-mostExponent, Math.min(mostExponent, Number(exponent)));
  const place = shift + significant.length - fraction.length + bounded;
  let end = significant.length;
  // A pattern with $ would look at each row of zeros again and again.
  while (significant[end - 1] === '0') end -= 1;
  const size = `${place}${significant.slice(0, end)}`;
  if (!text.startsWith('-')) return `2${size}`;
  return `0${size.replace(/\d/g, (digit) => complements[Number(digit)] ?? '')}~`;
}
