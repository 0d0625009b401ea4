import { AppError } from '../kernel/errors.ts';
import { elementsOf, membersOf } from '../kernel/json-items.ts';

/** Parses what the service answered. Throws `answer_unexpected` when it is not JSON. */
export function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(error);
  }
}

/** The error for an answer that is not JSON. */
export function notJson(cause?: unknown): AppError {
  return new AppError('answer_unexpected', {
    detail: 'The answer is not the JSON it should be. Is this the URL of a svcctl service?',
    cause,
  });
}

/** What JSON says, with each integer that JavaScript's numbers cannot represent as a bigint. */
export function parseExactly(text: string): unknown {
  const json = text.trim();
  if (json.startsWith('{')) {
    return Object.fromEntries(
      [...membersOf(json)].map(([name, part]) => [name, parseExactly(part)]),
    );
  }
  if (json.startsWith('[')) return elementsOf(json).map(parseExactly);
  const value = parseAnswer(json);
  return /^-?\d+$/.test(json) && !Number.isSafeInteger(value) ? BigInt(json) : value;
}

/** A value as JSON: what is spelled already as it is, and each digit of a bigint. */
export function spellJson(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(spellJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, part]) => part !== undefined);
  return `{${members.map(([name, part]) => `${JSON.stringify(name)}:${spellJson(part)}`).join(',')}}`;
}

/** JSON that is sent as it is spelled, because JavaScript cannot represent each number in it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): unknown {
    return JSON.parse(this.text);
  }
}
