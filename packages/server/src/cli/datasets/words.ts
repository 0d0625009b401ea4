import type { DatasetName } from '../../records/values.ts';

/** "fine-tuning", as people write it. */
export function datasetText(dataset: DatasetName): string {
  return dataset.replace('_', '-');
}
