import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { startTestService, type TestService } from '../../../test/service.ts';

const run = promisify(execFile);

/**
 * Clients as pipelines have them: each sends 100 requests in turn, with bodies that nobody wants, and prints how often
 * it got which status and over how many connections.
 */
const clients = {
  node: {
    command: ['node'],
    file: 'client.mjs',
    text: `
import { Agent, request } from 'node:http';
const [url, token] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const counts = {};
const ports = new Set();
for (let n = 0; n < 100; n += 1) {
  const status = await new Promise((resolve, reject) => {
    const sent = request(url, {
      agent, method: 'POST', headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
    });
    sent.on('error', reject).on('response', (answer) => {
      answer.resume().on('error', reject).on('end', () => resolve(answer.statusCode));
      ports.add(answer.socket.localPort);
    });
    sent.end('x'.repeat(100000));
  });
  counts[status] = (counts[status] ?? 0) + 1;
}
console.log(JSON.stringify({ counts, connections: ports.size }));
agent.destroy();
`,
  },
  python: {
    command: ['python3'],
    file: 'client.py',
    text: `
import http.client, json, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
counts, ports = {}, set()
for n in range(100):
    connection.request('POST', url.path, b'x' * 100000,
        {'authorization': 'Bearer ' + sys.argv[2], 'content-type': 'application/json'})
    ports.add(connection.sock.getsockname()[1])
    answer = connection.getresponse()
    answer.read()
    counts[str(answer.status)] = counts.get(str(answer.status), 0) + 1
print(json.dumps({'counts': counts, 'connections': len(ports)}))
`,
  },
  go: {
    command: ['go', 'run'],
    file: 'client.go',
    text: `
package main

import ("encoding/json"; "fmt"; "io"; "net/http"; "net/http/httptrace"; "os"; "strings")

func main() {
	counts, ports := map[string]int{}, map[string]bool{}
	for n := 0; n < 100; n++ {
		request, err := http.NewRequest("POST", os.Args[1], strings.NewReader(strings.Repeat("x", 100000)))
		if err != nil { panic(err) }
		request.Header.Set("authorization", "Bearer " + os.Args[2])
		request.Header.Set("content-type", "application/json")
		trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			ports[got.Conn.LocalAddr().String()] = true
		}}
		answer, err := http.DefaultClient.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
		if err != nil { panic(err) }
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		counts[fmt.Sprint(answer.StatusCode)]++
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"counts": counts, "connections": len(ports)})
}
`,
  },
};

let service: TestService;
const dir = useFolder('once');
beforeAll(async () => {
  service = await startTestService({ SVC_RATE_LIMIT: '40' });
});
afterAll(async () => {
  await service.stop();
});

test.each(Object.entries(clients))(
  '100 refusals are answered to %s over one connection',
  async (name, { command, file, text }) => {
    const [program = '', ...args] = command;
    const path = join(dir.path, file);
    await writeFile(path, text);
    const send = async (route: string, token: string) => {
      const url = `${service.url}/api/v1/${route}`;
      return JSON.parse((await run(program, [...args, path, url, token])).stdout);
    };
    if (!(await isInstalled(program))) {
      console.warn(`${name} is not tried: ${program} is not installed here.`);
      return;
    }
    expect(await send('tokens', 'svc_nobody')).toEqual({ counts: { 401: 100 }, connections: 1 });
    expect(await send('session', 'x')).toEqual({ counts: { 413: 100 }, connections: 1 });
    const { token } = await service.makeToken({ preset: 'support-readonly' });
    const { counts, connections } = await send('tokens', token);
    expect(connections).toBe(1);
    expect(Object.keys(counts)).toEqual(['403', '429']);
    expect(counts[403] + counts[429]).toBe(100);
  },
  240_000,
);

async function isInstalled(program: string): Promise<boolean> {
  try {
    // Go knows no --version, and answers that with 2.
    await run(program, [program === 'go' ? 'version' : '--version']);
    return true;
  } catch {
    return false;
  }
}
