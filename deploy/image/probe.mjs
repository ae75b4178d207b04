// A health check that sends a request to the internal listener of this container: `node probe.mjs /readyz`. Exits with
// 0 if the status is 200.
const [path = '/livez', port = '9090'] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}${path}`;
try {
  const { status } = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  console.log(`${url} says ${status}`);
  process.exitCode = status === 200 ? 0 : 1;
} catch (error) {
  console.log(`${url} does not answer: ${String(error)}`);
  process.exitCode = 1;
}
