import type { ReactNode } from 'react';
import {
  includesScope,
  type Preset,
  presets,
  scopes,
  scopeTexts,
  storeScopes,
} from '../api/values.ts';
import { ListBar } from '../ui/list-page.tsx';
import { PanelBody } from '../ui/panel.tsx';
import { roles } from '../ui/table/rows.tsx';
import classes from './access.module.css';

const names = Object.keys(presets) as Preset[];

/** Who may what: each scope in a few words, and which presets have it. */
export function RightsView({ views }: { views: ReactNode }): ReactNode {
  return (
    <>
      <ListBar left={views} queries={[]} />
      <PanelBody label="Who may what">
        <table {...roles.table} className={classes.rights}>
          <thead>
            <tr>
              <th scope="col">SCOPE</th>
              <th scope="col">LETS A TOKEN</th>
              {names.map((name) => (
                <th key={name} scope="col" className="mono">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody {...roles.group}>
            {scopes.map((scope) => (
              <tr key={scope} {...roles.row}>
                <th {...roles.rowHeader} scope="row" className="mono">
                  {scope}
                </th>
                <td {...roles.cell}>
                  {scopeTexts[scope]}
                  {storeScopes.includes(scope) && '; also of some stores alone'}
                </td>
                {names.map((name) => (
                  <td
                    key={name}
                    {...roles.cell}
                    {...(includesScope(presets[name], scope) && { 'data-preset': name })}
                  >
                    {includesScope(presets[name], scope) ? (
                      <span>yes</span>
                    ) : (
                      <span className="muted">–</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </PanelBody>
    </>
  );
}
