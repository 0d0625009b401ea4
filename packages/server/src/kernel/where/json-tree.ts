import { JsonItems } from '../json-items.ts';

type Kind = 'object' | 'array' | 'text' | 'number' | 'word';

/**
 * JSON text whose members and elements are cut out when they are first asked for, and kept: many wheres look at one
 * payload, and cut it once. Numbers stay as they are spelled.
 */
export class JsonTree {
  readonly text: string;
  readonly kind: Kind;
  #members: Map<string, JsonTree> | undefined;
  #elements: JsonTree[] | undefined;
  #decoded: string | undefined;

  constructor(text: string) {
    this.text = text;
    const first = text[0] ?? '';
    if (first === '{') this.kind = 'object';
    else if (first === '[') this.kind = 'array';
    else if (first === '"') this.kind = 'text';
    else this.kind = /[-0-9]/.test(first) ? 'number' : 'word';
  }

  /** Whether the next look inside has to cut this text first. */
  get isWhole(): boolean {
    return this.#members === undefined && this.#elements === undefined;
  }

  /** The value at a key, or at the number of an element, as its text without white space around it. */
  at(step: string): JsonTree | undefined {
    if (this.kind === 'object') return this.#cutMembers().get(step);
    if (this.kind !== 'array' || !/^(?:0|[1-9]\d{0,8})$/.test(step)) return undefined;
    return this.elements()[Number(step)];
  }

  /** The elements of an array; none of anything else. */
  elements(): readonly JsonTree[] {
    if (this.kind !== 'array') return [];
    if (this.#elements !== undefined) return this.#elements;
    const elements: JsonTree[] = [];
    for (const items = new JsonItems(this.text); items.next(); ) {
      elements.push(new JsonTree(items.value));
    }
    this.#elements = elements;
    return elements;
  }

  /** What a text says, without its quotes and escapes. */
  decoded(): string {
    this.#decoded ??= this.text.includes('\\')
      ? (JSON.parse(this.text) as string)
      : this.text.slice(1, -1);
    return this.#decoded;
  }

  #cutMembers(): Map<string, JsonTree> {
    if (this.#members !== undefined) return this.#members;
    const members = new Map<string, JsonTree>();
    for (const items = new JsonItems(this.text); items.next(); ) {
      members.set(items.name ?? '', new JsonTree(items.value));
    }
    this.#members = members;
    return members;
  }
}
