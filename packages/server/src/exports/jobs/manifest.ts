import { formatDigest } from '../../kernel/digest.ts';
import type { FileFormat } from '../formats/format.ts';
import { linesOf } from '../typed/fill-row.ts';
import type { Proof } from '../values.ts';
import type { StoredJob, StoredManifest } from './job.ts';
import type { DonePart } from './queries.ts';
import { isReadBack } from './write-part.ts';

/** A file of some parts of a job, or of all. The digest is decimal text. */
type DescribedFile = {
  readonly format: FileFormat;
  readonly parts: readonly DonePart[];
  readonly digest: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
};

/** The manifest of a file, but for what is told of the splits in it. */
export function describeFile(job: StoredJob, file: DescribedFile): StoredManifest {
  return {
    export_id: job.id,
    file_name: job.file_name,
    format: job.options.format,
    compression: job.options.compression,
    columns: [...job.options.columns],
    ...(job.typed_schema && { schema: job.typed_schema }),
    ...file.format.tell?.(file.parts.map(({ layout }) => layout)),
    request: job.request,
    recorded_before: job.recorded_before,
    version: job.version,
    rows: file.parts.reduce((sum, part) => sum + linesOf(part), 0),
    digest: hexDigest(file.digest),
    proof: proofOf(job, file),
    splits: null,
    bytes: file.sizeBytes,
    sha256: file.sha256.toString('hex'),
    parts: file.parts.map((part) => ({
      rows: linesOf(part),
      digest: hexDigest(part.digest),
      bytes: part.size_bytes,
      sha256: part.sha256.toString('hex'),
    })),
    created_at: job.created_at,
  };
}

/** What the parts that were read back prove, at the least: parts with hot records are always read back. */
function proofOf(job: StoredJob, { format, parts }: DescribedFile): Proof {
  if (format.proof !== 'content') return format.proof;
  return parts.every((part) => isReadBack(part, job)) ? 'content' : 'sample';
}

function hexDigest(decimal: string): string {
  return formatDigest(BigInt(decimal));
}
