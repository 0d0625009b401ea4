import type { datasetNames as contractNames } from '../../contract.ts';

/** The contract's list once more: loading the contract would cost the command line its quick start. */
export const datasetNames = ['training', 'fine_tuning'] as const satisfies typeof contractNames;
export type DatasetName = (typeof datasetNames)[number];

/** "fine-tuning", as people write it. */
export function datasetText(dataset: DatasetName): string {
  return dataset.replace('_', '-');
}
