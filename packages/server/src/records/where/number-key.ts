// Numbers of JSON have any number of digits and any exponent, and no type of either engine holds them all. So they are
// compared as texts, their keys, which order by their bytes as the numbers do: the sign, where the point stands, and the
// digits without zeros at either end. 5, 5.0 and 0.5E1 have one key.

/** Added to the place of the point, so that it always has eleven digits. */
const shift = 20_000_000_000;
/**
 * Of an exponent so many digits count. One that is longer stands for a number that is larger, or smaller, than all that a
 * `where` can say.
 */
const exponentDigits = 10;
const [digits, complements] = ['0123456789', '9876543210'];

/** Returns the key of a number that a `where` says. */
export function numberKey(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^-/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const significant = `${whole}${fraction}`.replace(/^0+/, '');
  if (significant === '') return '1';
  const place = shift + significant.length - fraction.length + Number(exponent);
  const size = `${place}${significant.replace(/0+$/, '')}`;
  if (!text.startsWith('-')) return `2${size}`;
  return `0${size.replace(/\d/g, (digit) => complements[Number(digit)] ?? '')}~`;
}

/**
 * Returns the same key in the SQL of PostgreSQL and of DuckDB. `text` must name a column or a variable that has the text
 * of a JSON number, or null.
 */
export function numberKeySql(text: string): string {
  const part = (n: 1 | 2) => `split_part(lower(${text}), 'e', ${n})`;
  const whole = `split_part(ltrim(${part(1)}, '-'), '.', 1)`;
  const fraction = `split_part(${part(1)}, '.', 2)`;
  const significant = `ltrim(${whole} || ${fraction}, '0')`;
  const exponent = `(case when left(${part(2)}, 1) = '-' then -1 else 1 end
    * ('0' || left(ltrim(${part(2)}, '+-0'), ${exponentDigits}))::bigint)`;
  const place = `(${shift} + length(${significant}) - length(${fraction}) + ${exponent})::text`;
  const size = `${place} || rtrim(${significant}, '0')`;
  return `case when ${significant} = '' then '1'
    when left(${text}, 1) = '-' then '0' || translate(${size}, '${digits}', '${complements}') || '~'
    else '2' || ${size} end`;
}
