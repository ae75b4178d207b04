/** A way to a server through a TCP proxy, on which faults are put and taken off. */
export class ProxiedLink {
  private constructor(private readonly proxy: string, readonly url: string) {}

  /** `toxiproxy` is the address of the proxy's HTTP interface, `serverUrl` a connection string with one host. */
  static async open(toxiproxy: string, serverUrl: string): Promise<ProxiedLink> {
    const server = new URL(serverUrl);
    const name = `mongo-${process.pid}-${Math.random().toString(36).slice(2)}`;
    const made = await send('POST', `${toxiproxy}/proxies`, { name, listen: '127.0.0.1:0', upstream: server.host, enabled: true });
    const { listen } = (await made.json()) as { readonly listen: string };
    return new ProxiedLink(`${toxiproxy}/proxies/${name}`, serverUrl.replace(server.host, listen));
  }

  async add(type: string, attributes: Readonly<Record<string, number>>, only?: 'upstream' | 'downstream'): Promise<void> {
    for (const stream of only === undefined ? ['upstream', 'downstream'] : [only]) await send('POST', `${this.proxy}/toxics`, { name: `${type}-${stream}`, type, stream, attributes });
  }

  /** Ends every connection and takes no other. */
  async cut(): Promise<void> {
    await send('POST', this.proxy, { enabled: false });
  }

  async mend(): Promise<void> {
    const toxics = (await (await send('GET', `${this.proxy}/toxics`)).json()) as { readonly name: string }[];
    for (const { name } of toxics) await send('DELETE', `${this.proxy}/toxics/${name}`);
    await send('POST', this.proxy, { enabled: true });
  }

  async close(): Promise<void> {
    await send('DELETE', this.proxy);
  }
}

async function send(method: string, url: string, body?: object): Promise<Response> {
  const response = await fetch(url, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${await response.text()}`);
  return response;
}
