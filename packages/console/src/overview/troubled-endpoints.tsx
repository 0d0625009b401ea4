import type { ReactNode } from 'react';
import type { WebhooksOverview } from '../api/types.ts';
import { backlogText, EndpointHealth } from '../ui/endpoint-health.tsx';
import { formatCount, visibleText } from '../ui/format.ts';
import { HoursChart, OkShare } from '../ui/hours.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { countOf } from '../ui/words.ts';
import classes from './overview.module.css';

/** More than these stand on the page ENDPOINTS. */
const mostShown = 4;

/** The endpoints that fail or are gone, the worst first; each leads to its panel. */
export function TroubledEndpoints({ webhooks }: { webhooks: WebhooksOverview }): ReactNode {
  const { endpoints, failing, degraded, gone, disabled, held } = webhooks;
  const shown = endpoints.slice(0, mostShown);
  const more = failing + degraded + gone + disabled + held - shown.length;
  if (shown.length === 0) return <p className="muted">No endpoint fails.</p>;
  return (
    <>
      <ul className={classes.endpoints}>
        {shown.map((endpoint) => (
          <li key={endpoint.id}>
            <a
              className="hover"
              href={panelHref('/endpoints', { kind: 'endpoint', id: endpoint.id })}
            >
              <span className="cut">
                <EndpointHealth endpoint={endpoint} />
              </span>
              <span className={`cut ${classes.target}`} title={endpoint.url}>
                <strong>{visibleText(endpoint.tenant)}</strong>
                <span>{visibleText(endpoint.url.replace(/^https?:\/\//, ''))}</span>
              </span>
              <span className={`nowrap right ${classes.ok}`}>
                <OkShare hours={endpoint.hours} /> ok
              </span>
              <span className={classes.spark}>
                <HoursChart hours={endpoint.hours} />
              </span>
              <span className="nowrap right">{backlogText(endpoint.backlog)} wait</span>
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <a className={classes.more} href="#/endpoints">
          and {formatCount(more)} more {countOf(more, 'endpoint').replace(/^\S+ /, '')}
        </a>
      )}
    </>
  );
}
