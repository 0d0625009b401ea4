import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { DatasetRow, RecordFields } from '../api/types.ts';
import { presetWith, type Scope } from '../api/values.ts';
import type { Days } from '../ui/days.ts';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { useSession } from '../ui/session.ts';
import type { ChangeSearch } from '../ui/use-search.ts';
import {
  ErasePanel,
  ExportPanel,
  FieldDrawer,
  FreezePanel,
  RecordDrawer,
  type RecordsPanel,
  TagPanel,
  VersionDrawer,
} from './panel-parts.ts';
import {
  changeFilters,
  changeSearch,
  chosenDays,
  chosenNode,
  type RecordsSearch,
  type recordsPanels,
  sliceOf,
} from './search.ts';

type PanelsProps = {
  panel: RecordsPanel;
  search: RecordsSearch;
  /** The counters of the chosen node: null when it has no records, undefined while they load. */
  facts: DatasetRow | null | undefined;
  fields: UseQueryResult<RecordFields>;
  update: ChangeSearch<RecordsSearch>;
};

/** The scopes that panels need. */
const neededScopes: Readonly<Partial<Record<(typeof recordsPanels)[number], Scope>>> = {
  tag: 'datasets:write',
  freeze: 'datasets:write',
  export: 'analytics:read',
  erase: 'admin',
};

/** The panel that the hash names, about the chosen node, and an export that goes on below another panel. */
export function RecordsPanels(props: PanelsProps): ReactNode {
  const { place, close } = props.panel;
  const { hasScope } = useSession();
  const needed = place && neededScopes[place.kind];
  const isRefused = needed !== undefined && !hasScope(needed);
  return (
    <>
      {isRefused ? <Refused scope={needed} onClose={close} /> : <OpenPanel {...props} />}
      <Export {...props} />
    </>
  );
}

function OpenPanel({ panel, search, facts, fields, update }: PanelsProps): ReactNode {
  const { hasScope } = useSession();
  const { place, open, close } = panel;
  const path = chosenNode(search);
  if (place?.kind === 'record') {
    const erase = () => open('erase', place.id, { isInside: true });
    return (
      <RecordDrawer
        recordKey={place.id}
        onErase={hasScope('admin') ? erase : undefined}
        onClose={close}
      />
    );
  }
  if (place?.kind === 'erase') {
    return <Erase search={search} recordKey={place.id || undefined} onClose={close} />;
  }
  if (path === null) return null;
  switch (place?.kind) {
    case 'field':
      return (
        <FieldDrawer
          fieldId={place.id}
          fields={fields}
          onFilter={(filter) =>
            update((before) =>
              changeSearch(changeFilters(before, filter), { view: undefined, panel: undefined }),
            )
          }
          onClose={close}
        />
      );
    case 'version':
      return (
        <VersionDrawer
          id={place.id}
          mayDelete={hasScope('datasets:write')}
          onExport={() => open('export', place.id, { isInside: true })}
          onClose={close}
        />
      );
    case 'tag':
      return (
        <TagPanel
          place={{ ...path, ...chosenDays(search, facts), months: monthsOf(facts) }}
          where={search.where}
          digest={facts?.digest}
          onClose={close}
        />
      );
    case 'freeze':
      return (
        <FreezePanel
          tenant={path.tenant}
          onFrozen={({ id }) => open('version', id)}
          onClose={close}
        />
      );
    case 'export':
    case undefined:
      return null;
  }
}

/** The first and the last month of a node that has records. */
function monthsOf(facts: DatasetRow | null | undefined): [string, string] | undefined {
  const first = facts?.first_at?.slice(0, 7);
  const last = facts?.last_at?.slice(0, 7);
  return first === undefined || last === undefined ? undefined : [first, last];
}

/** The panel that exports what is chosen. An export that runs goes on when its panel is closed. */
function Export({ panel, search, facts, update }: PanelsProps): ReactNode {
  const { hasScope } = useSession();
  const [isKept, setKept] = useState(false);
  const id = panel.idOf('export');
  const slice = sliceOf(search);
  const isOpen = id !== undefined && slice !== null && hasScope('analytics:read');
  if (!isOpen && !isKept) return null;
  const onDays = (days: Days) => update((before) => changeFilters(before, days), { replace: true });
  const first = facts?.first_at?.slice(0, 10);
  const last = facts?.last_at?.slice(0, 10);
  return (
    <ExportPanel
      isOpen={isOpen}
      slice={slice}
      kind={search.kind}
      where={search.where}
      source={search.source}
      dataset={search.dataset}
      versionId={id || undefined}
      days={first === undefined || last === undefined ? null : [first, last]}
      pageDays={{ search, facts, onChange: onDays }}
      onVersion={(version) => panel.open('export', version)}
      onKept={setKept}
      onShow={(version) => panel.open('export', version)}
      onClose={panel.close}
    />
  );
}

/** The panel that erases what is chosen, or the event of a record. */
function Erase(props: {
  search: RecordsSearch;
  recordKey: string | undefined;
  onClose: () => void;
}): ReactNode {
  const { search, recordKey, onClose } = props;
  const slice = sliceOf(search);
  const { event: eventId, kind, source, where, dataset } = search;
  const filters = { kind, source, where, dataset };
  return (
    <ErasePanel
      key={recordKey ?? ''}
      chosen={slice && { ...slice, eventId }}
      recordKey={recordKey}
      unheeded={Object.entries(filters).flatMap(([name, value]) => (value ? [name] : []))}
      onClose={onClose}
    />
  );
}

/** What a link to a panel shows to a token that may not use it. */
function Refused({ scope, onClose }: { scope: Scope; onClose: () => void }): ReactNode {
  const preset = presetWith(scope);
  return (
    <Panel kind="NEEDS" title={scope} id={scope} closeLabel="Close" onClose={onClose}>
      <PanelBody>
        Your token lacks the scope {scope}.
        {preset !== undefined && ` Ask an admin for the preset ${preset}.`}
      </PanelBody>
    </Panel>
  );
}
