import type { HttpServer } from '../../platform/http/server.ts';
import { retentionContract } from '../contract.ts';
import type { Eraser } from './eraser.ts';

export function addEraseRoutes(http: HttpServer, eraser: Pick<Eraser, 'erase'>): void {
  http.route(retentionContract.eraseRecords, ({ body, actor, request }) =>
    eraser.erase({ actor, request }, body),
  );
}
