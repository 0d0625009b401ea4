import sql, { raw, type Sql } from 'sql-template-tag';

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

/** The parts of a number are found in two steps, in the SQL of either engine. First the mantissa and the exponent, */
const split = { mantissa: part(1), exponent: part(2) };
/** then all digits from the first that counts, and how many of them stand behind the point. */
const strip = {
  significant: `ltrim(replace(ltrim(number.mantissa, '-'), '.', ''), '0')`,
  behind: `length(split_part(number.mantissa, '.', 2))`,
};
const place = `(${shift} + length(number.significant) - number.behind
  + (case when left(number.exponent, 1) = '-' then -1 else 1 end)
  * ('0' || left(ltrim(number.exponent, '+-0'), ${exponentDigits}))::bigint)::text`;
const size = `${place} || rtrim(number.significant, '0')`;
const key = `case when number.significant = '' then '1'
  when left(number.mantissa, 1) = '-' then '0' || translate(${size}, '${digits}', '${complements}') || '~'
  else '2' || ${size} end`;

function part(n: 1 | 2): string {
  return `split_part(lower(number.text), 'e', ${n})`;
}

/** Returns the key of a text in the SQL of PostgreSQL: that of a number of JSON, or null. */
export function numberKeySql(text: Sql): Sql {
  return sql`(select ${raw(key)} from (
    select *, ${raw(`${strip.significant} as significant, ${strip.behind} as behind`)} from (
      select *, ${raw(`${split.mantissa} as mantissa, ${split.exponent} as exponent`)}
      from (select ${text} as text offset 0) number offset 0
    ) number offset 0
  ) number)`;
}

/** Returns the same in the SQL of DuckDB. What would be a variable is the only element of a list. */
export function coldNumberKeySql(text: string): string {
  return `list_transform(list_transform(list_transform([{text: ${text}}],
    lambda number: {mantissa: ${split.mantissa}, exponent: ${split.exponent}}),
    lambda number: {mantissa: number.mantissa, exponent: number.exponent,
      significant: ${strip.significant}, behind: ${strip.behind}}),
    lambda number: ${key})[1]`;
}
