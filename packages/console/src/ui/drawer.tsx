import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Loaded } from './list.tsx';
import { Panel, PanelBody } from './panel.tsx';

/** The panel of one thing that is read: what can be done with it, and below that all about it. */
export function Drawer<Data>(props: {
  kind: string;
  title: ReactNode;
  id: string;
  /** What it shows, as in "Close move" and "Loading the move". */
  noun: string;
  query: UseQueryResult<Data>;
  /** How many placeholder rows a first load shows. */
  rows: number;
  actions?: (data: Data) => ReactNode;
  onClose: () => void;
  children: (data: Data) => ReactNode;
}): ReactNode {
  const { kind, title, id, noun, onClose } = props;
  return (
    <Panel kind={kind} title={title} id={id} onClose={onClose} closeLabel={`Close ${noun}`}>
      <Loaded query={props.query} name={`the ${noun}`} rows={props.rows} isPanel>
        {(data) => (
          <>
            {props.actions?.(data)}
            <PanelBody label={`The ${noun}`}>{props.children(data)}</PanelBody>
          </>
        )}
      </Loaded>
    </Panel>
  );
}
