import { type FieldType, fieldTypeText, restColumn } from '../../exports/values.ts';
import { formatCount } from '../../kernel/values.ts';
import type { SplitName } from '../../records/values.ts';
import type { RouteAnswer } from '../client.ts';
import type { Version } from '../dataset-versions.ts';
import { formatBytes } from '../format.ts';

/** A split with the manifest of its file. */
export type BundledSplit = {
  readonly name: SplitName;
  readonly manifest: RouteAnswer<'GET /exports/:id/manifest'>;
};

type Column = { readonly name: string; readonly type: FieldType | 'integer' | 'instant' };

/**
 * The card of a dataset: a head of YAML from which Hugging Face knows files, splits and features, and text for people.
 * https://huggingface.co/docs/hub/datasets-cards
 */
export function datasetCard({
  version,
  splits,
  fileOf,
}: {
  readonly version: Version;
  readonly splits: readonly BundledSplit[];
  readonly fileOf: (split: SplitName) => string;
}): string {
  const { tenant, name, dataset, note } = version;
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
    `The version ${shown(name)} of the dataset ${dataset} of ${shown(tenant)}, frozen at ${version.created_at}${note === null ? '' : `: ${shown(note)}`}.`,
    ...(version.where === null ? [] : [`It has the records that fit ${shown(version.where)}.`]),
    ...(version.group_by === null
      ? []
      : [`Records with the same ${shown(version.group_by)} are in one split.`]),
    'Its digest is `' + (version.current ?? version).digest + '`, its id `' + version.id + '`.',
    '',
    '| split | rows | bytes | digest | export |',
    '|---|---:|---:|---|---|',
    ...splits.map(
      ({ name: split, manifest }) =>
        `| ${split} | ${formatCount(manifest.rows)} | ${formatBytes(manifest.bytes)} | \`${manifest.digest}\` | \`${manifest.export_id}\` |`,
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

function columnsOf({ columns, schema }: BundledSplit['manifest']): Column[] {
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
