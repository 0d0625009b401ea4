export function runDemo(options: {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stop: AbortSignal;
  readonly flags: readonly string[];
  readonly limit: number | undefined;
  readonly cold: string | undefined;
  readonly hasOutage?: boolean | undefined;
  readonly svcctl: string;
  readonly connect: (url: string) => string;
  readonly farewell: string;
}): Promise<number>;
