import { Button, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetVersion, NewVersion, Shares, Tag } from '../../api/types.ts';
import { type DatasetName, type SplitName, splitNames } from '../../api/values.ts';
import { ActionForm } from '../../ui/form.tsx';
import { formatBytes } from '../../ui/format.ts';
import { SkeletonText } from '../../ui/list.tsx';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { useForm } from '../../ui/use-form.ts';
import { countOf, sliceText } from '../../ui/words.ts';
import { DatasetChoice } from '../tags/tags-view.tsx';
import { useTags } from '../tags/use-tags.ts';
import { versionsKey, versionsPath } from './use-versions.ts';
import classes from './versions.module.css';

type FreezePanelProps = {
  tenant: string;
  onFrozen: (version: DatasetVersion) => void;
  onClose: () => void;
};

/** The panel that freezes what is tagged now as a version, which never changes. */
export function FreezePanel(props: FreezePanelProps): ReactNode {
  return (
    <Panel
      kind="FREEZE A DATASET OF"
      title={props.tenant}
      id="freeze"
      closeLabel="Close freeze"
      onClose={props.onClose}
    >
      <PanelBody>
        <FreezeForm {...props} />
      </PanelBody>
    </Panel>
  );
}

/** The form of the panel. */
function FreezeForm({ tenant, onFrozen, onClose }: FreezePanelProps): ReactNode {
  const client = useQueryClient();
  const form = useForm<FreezeValues, DatasetVersion>({
    first: firstValues,
    // The service answers at once, and counts the records afterwards.
    call: (values) => api.post<DatasetVersion>(versionsPath, versionOf(tenant, values)),
    onDone: (version) => {
      client.setQueryData([...versionsKey, 'one', version.id], version);
      notify({ text: `Frozen as ${version.name}. Its records are being counted.` });
      onFrozen(version);
    },
    changes: [...versionsKey, 'of'],
    renamed: { group_by: 'groupBy' },
  });
  const { values, set } = form;
  const shareFault = shareFaultOf(values);
  return (
    <ActionForm
      label="A new version"
      {...form.sent}
      isReady={versionOf(tenant, values) !== null}
      button="FREEZE"
      fault={form.faults[''] ?? ''}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <p className="muted">
        The records that are tagged now, whatever is tagged, untagged or arrives later. Retention
        does not delete them unless it is told to.
      </p>
      <DatasetChoice value={values.dataset} onChange={(dataset) => set({ dataset })} />
      <Tagged tenant={tenant} dataset={values.dataset} />
      <TextInput
        label="Name"
        description="As it is asked for in exports: such as 2001-q1"
        required
        maxLength={200}
        {...form.text('name')}
      />
      <TextInput
        label="Where"
        description="Only records that fit, as score >= 0.9 and model = &quot;v3&quot;. Empty: all that are tagged"
        maxLength={2000}
        {...form.text('where')}
      />
      <ShareFields values={values} fault={shareFault} set={set} />
      <TextInput
        label="Keep together"
        description="A field of the enrichment, as camera_id or track.id, or store, kind, source, model: records with the same value there are never in two parts. The shares then hold only in the mean"
        maxLength={1000}
        disabled={shareFault !== null || !hasShares(values)}
        {...form.text('groupBy')}
      />
      <Textarea
        label="Note"
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={4}
        {...form.text('note')}
        spellCheck
      />
    </ActionForm>
  );
}

const fewTags = 5;

/** What is frozen: how many records are tagged, and the latest of the slices that are. */
function Tagged({ tenant, dataset }: { tenant: string; dataset: DatasetName }): ReactNode {
  const params = { tenant, dataset };
  const size = useRead<{ rows: number; bytes: number }>(
    ['records', 'estimate', params],
    '/exports/estimate',
    { params, isOne: true, everyMillis: null },
  );
  const tags = useTags({ tenant }, true).data?.data.filter((tag) => tag.dataset === dataset) ?? [];
  if (size.data === undefined) return size.isError ? null : <SkeletonText width="260px" />;
  const { rows, bytes } = size.data;
  const more = tags.length - fewTags;
  return (
    <section aria-label="What is frozen">
      <p>
        <strong>{countOf(rows, 'record')}</strong> tagged now · {formatBytes(bytes)}
      </p>
      {tags.slice(0, fewTags).map((tag) => (
        <p key={tag.id} className="muted small">
          {tagText(tag)}
        </p>
      ))}
      {more > 0 && <p className="muted small">and {countOf(more, 'tag')} more</p>}
    </section>
  );
}

/** `TX › DFW › 2001-01-01 – 2001-01-31 · 730 records`; a tag without days is of all of them. */
function tagText({ tenant, store, from, to, count }: Tag): string {
  const days = { from: from ?? undefined, to: to ?? undefined };
  const slice = sliceText({ tenant, store: store ?? undefined, ...days });
  return `${slice}${from === null ? ' › all days' : ''} · ${countOf(count, 'record')}`;
}

/** The three fields for the shares of training, validation and test. */
function ShareFields(props: {
  values: FreezeValues;
  fault: string | null;
  set: (change: Partial<FreezeValues>) => void;
}): ReactNode {
  const { values, fault, set } = props;
  return (
    <fieldset className={`grid ${classes.shares}`}>
      <legend>Split, in percent</legend>
      {splitNames.map((split) => (
        <TextInput
          key={split}
          label={split}
          inputMode="numeric"
          maxLength={3}
          error={fault !== null}
          aria-describedby="share-fault"
          value={values[split]}
          onChange={(event) => set({ [split]: event.currentTarget.value })}
        />
      ))}
      <p id="share-fault" className={fault === null ? 'muted' : 'grow form-fault'}>
        {fault ??
          'By a hash of the event id, or of what is kept together: the same event always falls into the same part. All empty: no split.'}
      </p>
    </fieldset>
  );
}

/** The fields of a new version, as typed. */
type FreezeValues = Record<SplitName | 'name' | 'groupBy' | 'where' | 'note', string> & {
  dataset: DatasetName;
};

/** The fields of the form when it opens. */
export const firstValues: FreezeValues = {
  dataset: 'training',
  name: '',
  train: '80',
  validation: '10',
  test: '10',
  groupBy: '',
  where: '',
  note: '',
};

/** What is wrong with the shares, which must add up to 100 or all be empty; null when nothing is. */
export function shareFaultOf(values: FreezeValues): string | null {
  const texts = splitNames.map((split) => values[split].trim());
  if (texts.every((text) => text === '')) return null;
  if (texts.some((text) => !/^\d{1,3}$/.test(text) || Number(text) > 100)) {
    return 'Give three whole percentages, or leave all three empty for no split.';
  }
  const sum = texts.reduce((total, text) => total + Number(text), 0);
  return sum === 100 ? null : `${texts.join(' + ')} = ${sum}: they must be 100 together.`;
}

/** The version to ask for; null while a field is wrong. */
export function versionOf(tenant: string, values: FreezeValues): NewVersion | null {
  const name = values.name.trim();
  if (name === '' || shareFaultOf(values) !== null) return null;
  const note = values.note.trim();
  const shares = sharesOf(values);
  const groupBy = values.groupBy.trim();
  const where = values.where.trim();
  return {
    tenant,
    dataset: values.dataset,
    name,
    ...(shares !== null && { shares }),
    ...(shares !== null && groupBy !== '' && { group_by: groupBy }),
    ...(where !== '' && { where }),
    ...(note !== '' && { note }),
  };
}

function hasShares({ train }: FreezeValues): boolean {
  return train.trim() !== '';
}

function sharesOf(values: FreezeValues): Shares | null {
  if (!hasShares(values)) return null;
  const { train, validation, test } = values;
  return { train: Number(train), validation: Number(validation), test: Number(test) };
}
