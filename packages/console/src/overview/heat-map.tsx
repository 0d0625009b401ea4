import { type ReactNode, useMemo } from 'react';
import type { RecordsOverview } from '../api/types.ts';
import { rampOf, shadeOf, shortCount } from '../ui/chart/scale.ts';
import { dayAfter } from '../ui/days.ts';
import { visibleText } from '../ui/format.ts';
import { stringifySearch } from '../ui/hash-state.ts';
import { countOf } from '../ui/words.ts';
import classes from './overview.module.css';
import { storedHref } from './words.ts';

/** What came in of which tenant on which day, in five shades: a tenant that fell silent is a row that ends. */
export function HeatMap({
  of: { from, tenants },
}: {
  of: RecordsOverview['by_tenant'];
}): ReactNode {
  const length = tenants[0]?.days.length ?? 0;
  const days = useMemo(() => Array.from({ length }, (_, at) => dayAfter(from, at)), [from, length]);
  const ramp = rampOf(tenants.reduce((most, row) => Math.max(most, ...row.days), 0));
  if (tenants.length === 0) return <p className="muted">Nothing was stored in 4 weeks.</p>;
  return (
    <>
      <table className={classes.heat}>
        <caption className="visually-hidden">Records stored by tenant and day</caption>
        <colgroup>
          <col className={classes.nameColumn} />
          <col span={length} />
        </colgroup>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Tenant</th>
            {days.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tenants.map(({ tenant, days: counts }) => (
            <tr key={tenant}>
              <th scope="row">
                <a href={`#/records${stringifySearch({ tenant })}`} title={visibleText(tenant)}>
                  {visibleText(tenant)}
                </a>
              </th>
              {counts.map((count, at) => (
                <td
                  key={days[at]}
                  data-shade={shadeOf(count, ramp)}
                  title={`${visibleText(tenant)} · ${days[at]} · ${countOf(count, 'record')}`}
                >
                  {count === 0 ? (
                    <span className="visually-hidden">0</span>
                  ) : (
                    <a href={storedHref(days[at] ?? '', [tenant])} tabIndex={-1}>
                      <span className="visually-hidden">{count}</span>
                    </a>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div className={`flex between muted small ${classes.axis}`} aria-hidden="true">
        <span>{days[0]}</span>
        <span className={`flex ${classes.ramp}`}>
          {ramp.map((least) => (
            <span key={least} data-shade={shadeOf(least, ramp)}>
              {shortCount(least)}
            </span>
          ))}
        </span>
        <span>today</span>
      </div>
    </>
  );
}
