import { notJson } from './parse-answer.ts';

/**
 * Cuts JSON text into the texts of its parts without parsing them: `JSON.parse` and `stringify` would
 * bend integers above 2^53 and number spellings, and 500 records of 256 KiB are dear to parse only to
 * print them again. Takes well-formed JSON (the API's answer); what is not, throws `answer_unexpected`
 * or comes out as it came in.
 */

/** The members of an object's text: name → text of the value. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  eachItem(text, '{', (start) => {
    const nameEnd = stringEnd(text, start);
    const colon = skipSpace(text, nameEnd);
    if (text[colon] !== ':') throw notJson();
    const valueStart = skipSpace(text, colon + 1);
    const end = valueEnd(text, valueStart);
    members.set(JSON.parse(text.slice(start, nameEnd)) as string, text.slice(valueStart, end));
    return end;
  });
  return members;
}

/** The texts of an array's elements. */
export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  eachItem(text, '[', (start) => {
    const end = valueEnd(text, start);
    elements.push(text.slice(start, end));
    return end;
  });
  return elements;
}

/** An object with only these members, in this order, each to the letter; an absent one is null. */
export function pickMembers(text: string, names: readonly string[]): string {
  const members = membersOf(text);
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name) ?? 'null'}`).join(',')}}`;
}

/** The same JSON over many lines, indented by two, every value to the letter. */
export function indentJson(text: string, depth = 0): string {
  const first = text[skipSpace(text, 0)];
  const inner = '  '.repeat(depth + 1);
  const items =
    first === '{'
      ? [...membersOf(text)].map(
          ([name, value]) => `${JSON.stringify(name)}: ${indentJson(value, depth + 1)}`,
        )
      : first === '['
        ? elementsOf(text).map((element) => indentJson(element, depth + 1))
        : null;
  if (items === null) return text;
  const close = first === '{' ? '}' : ']';
  if (items.length === 0) return `${first}${close}`;
  return `${first}\n${items.map((item) => inner + item).join(',\n')}\n${'  '.repeat(depth)}${close}`;
}

function eachItem(text: string, open: '{' | '[', readItem: (start: number) => number): void {
  const close = open === '{' ? '}' : ']';
  let position = skipSpace(text, 0);
  if (text[position] !== open) throw notJson();
  position = skipSpace(text, position + 1);
  if (text[position] === close) return;
  for (;;) {
    position = skipSpace(text, readItem(position));
    if (text[position] === close) return;
    if (text[position] !== ',') throw notJson();
    position = skipSpace(text, position + 1);
  }
}

function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first === '{' || first === '[') return containerEnd(text, start);
  let end = start;
  while (end < text.length && !',]} \t\n\r'.includes(text.charAt(end))) end += 1;
  if (end === start) throw notJson();
  return end;
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position++) {
    switch (text.charCodeAt(position)) {
      case 0x22:
        position = stringEnd(text, position) - 1;
        break;
      case 0x7b:
      case 0x5b:
        depth += 1;
        break;
      case 0x7d:
      case 0x5d:
        depth -= 1;
        if (depth === 0) return position + 1;
    }
  }
  throw notJson();
}

function stringEnd(text: string, start: number): number {
  if (text[start] !== '"') throw notJson();
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  throw notJson();
}

function skipSpace(text: string, start: number): number {
  let position = start;
  while (position < text.length && ' \t\n\r'.includes(text.charAt(position))) position += 1;
  return position;
}
