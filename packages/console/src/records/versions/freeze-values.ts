import type { DatasetName, NewVersion, Shares } from '../../api/types.ts';

/** The fields of a new version, as they are typed. */
export type FreezeValues = {
  readonly dataset: DatasetName;
  readonly name: string;
  readonly train: string;
  readonly validation: string;
  readonly test: string;
  readonly note: string;
};

export const firstValues: FreezeValues = {
  dataset: 'training',
  name: '',
  train: '80',
  validation: '10',
  test: '10',
  note: '',
};

const splits = ['train', 'validation', 'test'] as const;

/** What is wrong with the shares: they are 100 together, or all empty. */
export function shareFaultOf(values: FreezeValues): string | null {
  const texts = splits.map((split) => values[split].trim());
  if (texts.every((text) => text === '')) return null;
  if (texts.some((text) => !/^\d{1,3}$/.test(text) || Number(text) > 100)) {
    return 'Give three whole percentages, or leave all three empty for no split.';
  }
  const sum = texts.reduce((total, text) => total + Number(text), 0);
  return sum === 100 ? null : `${texts.join(' + ')} = ${sum}: they must be 100 together.`;
}

/** The version to ask for; null while a field is at fault. */
export function versionOf(tenant: string, values: FreezeValues): NewVersion | null {
  const name = values.name.trim();
  if (name === '' || shareFaultOf(values) !== null) return null;
  const note = values.note.trim();
  const shares = sharesOf(values);
  return {
    tenant,
    dataset: values.dataset,
    name,
    ...(shares !== null && { shares }),
    ...(note !== '' && { note }),
  };
}

function sharesOf({ train, validation, test }: FreezeValues): Shares | null {
  if (train.trim() === '') return null;
  return { train: Number(train), validation: Number(validation), test: Number(test) };
}
