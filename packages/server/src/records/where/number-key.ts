import { complements, digits, exponentDigits, shift } from '../../kernel/where/number-key.ts';

// The keys of numbers, as kernel/where/number-key.ts makes them, in the SQL of both engines.

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
export function numberKeySql(text: string): string {
  return `(select ${key} from (
    select *, ${strip.significant} as significant, ${strip.behind} as behind from (
      select *, ${split.mantissa} as mantissa, ${split.exponent} as exponent
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
