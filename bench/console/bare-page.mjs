import { createServer } from 'node:http';
import { listen } from '../lib/listen.mjs';

/** No framework, no styles, no keyboard: what the API answers, as one table. */
const html = `<!doctype html>
<meta charset="utf-8" />
<title>tenants</title>
<table><tbody></tbody></table>
<script>
  fetch('/api/v1/enrichment/datasets?level=tenant&limit=500').then(async (response) => {
    const { data } = await response.json();
    document.querySelector('tbody').innerHTML = data
      .map((row) => '<tr><td>' + row.tenant + '<td>' + row.count + '<td>' + row.bytes + '<td>' + row.coverage)
      .join('');
  });
</script>
`;

/**
 * What one would use instead of the console: one HTML page that asks the same API. It stands on an origin
 * of its own, which hands the request on with the token.
 */
export async function startBarePage(scope, service) {
  const server = createServer((request, response) => void answer(service, request, response));
  scope.defer(() => server.close());
  return listen(server);
}

async function answer(service, request, response) {
  if (request.url === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(html);
    return;
  }
  try {
    const answered = await fetch(service.origin + request.url, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    response.writeHead(answered.status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(await answered.text());
  } catch {
    response.writeHead(502).end();
  }
}
