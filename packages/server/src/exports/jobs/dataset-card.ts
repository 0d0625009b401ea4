import { formatCount } from '../../kernel/values.ts';
import type { SplitName } from '../../records/values.ts';
import type { Manifest } from '../jobs.contract.ts';
import { type FieldType, fieldTypeText, restColumn } from '../values.ts';
import type { JobVersion, StoredJob } from './job.ts';

/** A split with the manifest of its file. */
export type BundledSplit = { readonly name: SplitName; readonly manifest: Manifest };

type Column = { readonly name: string; readonly type: FieldType | 'integer' | 'instant' };

/**
 * The card of a dataset: a head of YAML from which Hugging Face knows files, splits and features, and text for people.
 * https://huggingface.co/docs/hub/datasets-cards
 */
export function datasetCard({
  job,
  version,
  note,
  digest,
  splits,
  fileOf,
}: {
  readonly job: StoredJob;
  readonly version: JobVersion;
  readonly note: string | null;
  readonly digest: string;
  readonly splits: readonly BundledSplit[];
  readonly fileOf: (split: SplitName) => string;
}): string {
  const { id, name, dataset, where, group_by: groupBy } = version;
  const [first] = splits;
  const columns = first === undefined ? [] : columnsOf(first.manifest);
  const bytes = splits.reduce((sum, { manifest }) => sum + manifest.bytes, 0);
  const head = [
    'configs:',
    '- config_name: default',
    '  data_files:',
    ...splits.flatMap((split) => [`  - split: ${split.name}`, `    path: ${fileOf(split.name)}`]),
    'dataset_info:',
    '  features:',
    ...columns.flatMap((column) => featureLines(column, '  ')),
    '  splits:',
    ...splits.flatMap(({ name: split, manifest }) => [
      `  - name: ${split}`,
      `    num_bytes: ${manifest.bytes}`,
      `    num_examples: ${manifest.rows}`,
    ]),
    `  download_size: ${bytes}`,
    `  dataset_size: ${bytes}`,
  ];
  const misfits = splits.reduce((sum, { manifest }) => sum + (manifest.misfits?.rows ?? 0), 0);
  const text = [
    `# ${shown(name)}`,
    '',
    `The version ${shown(name)} of the dataset ${dataset} of ${shown(job.tenant)}, frozen at ${job.recorded_before}${note === null ? '' : `: ${shown(note)}`}.`,
    ...(where === undefined ? [] : [`It has the records that fit ${shown(where)}.`]),
    ...(groupBy === undefined ? [] : [`Records with the same ${shown(groupBy)} are in one split.`]),
    `Its digest is \`${digest}\`, its id \`${id}\`, and it is the export \`${job.id}\`.`,
    '',
    '| split | rows | bytes | digest |',
    '|---|---:|---:|---|',
    ...splits.map(
      ({ name: split, manifest }) =>
        `| ${split} | ${formatCount(manifest.rows)} | ${formatCount(manifest.bytes)} | \`${manifest.digest}\` |`,
    ),
    '',
    '| column | type |',
    '|---|---|',
    ...columns.map(({ name: column, type }) => `| ${cell(column)} | ${cell(typeText(type))} |`),
    '',
    `\`${restColumn}\` has what fits no other column, as JSON, and which members are null: ${formatCount(misfits)} rows have more than nulls there. \`manifests/\` proves each file (\`svcctl exports verify --file FILE --manifest MANIFEST\`), \`statistics.json\` summarizes the columns, and \`sha256sum -c SHA256SUMS\` checks them all.`,
  ];
  return `---\n${head.join('\n')}\n---\n\n${text.join('\n')}\n`;
}

function columnsOf({ columns, schema }: Manifest): Column[] {
  const rest: Column = { name: restColumn, type: 'string' };
  return columns.flatMap((name): Column[] =>
    name === 'enrichment' ? [...(schema?.columns ?? []), rest] : [{ name, type: ownType(name) }],
  );
}

function ownType(name: string): Column['type'] {
  if (name === 'bytes') return 'integer';
  if (name === 'confidence') return 'double';
  return name === 'occurred_at' || name === 'recorded_at' ? 'instant' : 'string';
}

function typeText(type: Column['type']): string {
  if (type === 'instant') return 'TIMESTAMP, UTC';
  return type === 'integer' ? 'INTEGER' : fieldTypeText(type);
}

const dtypes = {
  boolean: 'bool',
  bigint: 'int64',
  double: 'float64',
  string: 'string',
  integer: 'int32',
  instant: 'timestamp[us, tz=UTC]',
} as const;

/** A feature in the YAML of a card: `dtype`, `struct`, or `list`, each with what is in it. */
function featureLines({ name, type }: Column, indent: string): string[] {
  // A text of JSON is one of YAML, whatever it contains.
  return [`${indent}- name: ${JSON.stringify(name)}`, ...typeLines(type, `${indent}  `)];
}

function typeLines(type: Column['type'], indent: string): string[] {
  if (typeof type === 'string') return [`${indent}dtype: ${dtypes[type]}`];
  if ('decimal' in type) return [`${indent}dtype: decimal128(38, ${type.decimal})`];
  if ('struct' in type) return [`${indent}struct:`, ...membersOf(type.struct, indent)];
  const { list } = type;
  if (typeof list === 'string') return [`${indent}list: ${dtypes[list]}`];
  if ('decimal' in list) return [`${indent}list: decimal128(38, ${list.decimal})`];
  if ('struct' in list) return [`${indent}list:`, ...membersOf(list.struct, indent)];
  return [`${indent}list:`, ...typeLines(list, `${indent}  `)];
}

function membersOf(members: readonly Column[], indent: string): string[] {
  return members.flatMap((member) => featureLines(member, indent));
}

/** Text of others, in one line that does nothing in Markdown. */
function shown(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>#|!]/g, '\\$&');
}

function cell(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}
