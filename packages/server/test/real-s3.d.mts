import type { S3Client } from '@aws-sdk/client-s3';
import type { S3ServerProcess } from './s3-backend.ts';

export type FoundS3 = { readonly name: string; readonly url?: URL; readonly binary?: string };

type RealS3 = {
  readonly name: string;
  readonly server: S3ServerProcess;
  readonly endpoint: string | null;
  readonly bucket: string;
  readonly own: string;
  readonly region: string;
  readonly client: S3Client;
  readonly environment: Readonly<Record<string, string>>;
  urlOf(prefix: string, through?: string): string;
  close(): Promise<void>;
};

export const noRealS3: string;
export function findRealS3(environment?: NodeJS.ProcessEnv): FoundS3 | null;
export function startRealS3(found: FoundS3): Promise<RealS3>;

export function isProgram(path: string): boolean;
export function freePorts(count: number): Promise<number[]>;
