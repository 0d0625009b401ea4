import type { Static } from 'typebox';
import { expect } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import type { Environment } from '../../config/settings.ts';
import type { acceptedIncidentSchema } from '../contract.ts';

/** A service for all tests of a file, which sends nothing unless told otherwise, and the calls that they begin with. */
export function useWebhookApi(env: Environment = { SVC_ROLES: 'api' }) {
  const service = useTestService({ SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_RATE_LIMIT: '0', ...env });
  const done = async (method: string, path: string, body: object) => {
    const answer = await service.call(method, path, { body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json;
  };
  const addEndpoint = (more: object = {}) =>
    done('POST', '/webhook/endpoints', { tenant: 'T', url: 'http://127.0.0.1:9/hook', ...more });
  let tenants = 0;
  return {
    service,
    freshTenant: () => `tenant-${++tenants}`,
    addEndpoint,
    makeEndpoint: async (tenant: string, more: object = {}): Promise<string> =>
      (await addEndpoint({ tenant, ...more })).id,
    changeEndpoint: (id: string, body: object) => done('PATCH', `/webhook/endpoints/${id}`, body),
    report: (more: object): Promise<Static<typeof acceptedIncidentSchema>> =>
      done('POST', '/incidents', { tenant: 'T', type: 'incident.created', data: {}, ...more }),
  };
}
