import type { JsonOption } from '../output.ts';

export const modes = [
  'ok',
  'fail',
  'hang',
  'slow',
  'reset',
  'bomb',
  'redirect',
  'gone',
  'flaky',
] as const;
export type Mode = (typeof modes)[number];

export type ListenOptions = {
  port?: number;
  host: string;
  secret?: string;
  register?: true;
  tenant?: string;
  mode: Mode;
  status?: number;
  failFirst?: number;
  /** Milliseconds. */
  delay?: number;
  once?: number | true;
  json?: JsonOption;
  ndjson?: true;
};
