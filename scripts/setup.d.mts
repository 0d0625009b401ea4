export function runNpm(args: readonly string[]): Promise<{ code: number | string; output: string }>;
