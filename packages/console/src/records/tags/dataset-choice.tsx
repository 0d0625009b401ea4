import { Radio } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DatasetName } from '../../api/types.ts';
import { datasetWords } from './tag-window.ts';
import classes from './tags.module.css';

/** Which of the two datasets. */
export function DatasetChoice(props: {
  value: DatasetName;
  onChange: (dataset: DatasetName) => void;
}): ReactNode {
  return (
    <Radio.Group label="Dataset" value={props.value} onChange={(value) => props.onChange(value)}>
      <div className={classes.datasets}>
        <Radio value="training" size="xs" label={datasetWords.training} />
        <Radio value="fine_tuning" size="xs" label={datasetWords.fine_tuning} />
      </div>
    </Radio.Group>
  );
}

/** A dataset as word and colour: that of its part of a coverage bar. */
export function DatasetMark({ dataset }: { dataset: DatasetName }): ReactNode {
  return (
    <span className={classes.dataset} data-dataset={dataset}>
      {datasetWords[dataset]}
    </span>
  );
}
