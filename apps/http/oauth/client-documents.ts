import { AllowList } from '../../../adapters/http/allow-list.js';
import { byNameServers } from '../../../adapters/http/connections.js';
import { fetchBy } from '../../../adapters/http/fetch.js';
import { HttpClient, type HttpClientOptions } from '../../../adapters/http/http-client.js';
import { RateLimit } from '../../rate-limit.js';
import type { ClientDocumentFetch } from './authorization-server.js';

const LIMITS = {
  maxBodyBytes: 16 * 1024,
  connectTimeoutMs: 2_000,
  headersTimeoutMs: 2_000,
  totalTimeoutMs: 4_000,
} as const;

const PER_HOST_A_MINUTE = 60;
/** A limit per address, so that no address can use up the requests allowed to a host. */
const PER_ADDRESS_A_MINUTE = 10;
/** Any host of the public internet. */
const ANY_HOST = '*';

/**
 * Fetches the metadata documents that clients name as their ids, from the hosts that an operator has listed: names, or
 * `*` for any public one. Addresses that are not public are never connected to, unless the host is listed by its name.
 */
export class ClientDocuments implements ClientDocumentFetch {
  readonly fetch: ClientDocumentFetch['fetch'];
  private readonly client: HttpClient;
  private readonly ofHosts = new RateLimit(PER_HOST_A_MINUTE);
  private readonly ofAddresses = new RateLimit(PER_ADDRESS_A_MINUTE);

  constructor(
    private readonly hosts: readonly string[],
    options: Pick<HttpClientOptions, 'resolve' | 'extraCa'> = {},
  ) {
    const allow = hosts.filter((host) => host !== ANY_HOST);
    const resolve = byNameServers({ allow: new AllowList(allow) });
    this.client = new HttpClient({ resolve, ...options, allow, keepAliveMs: 1 });
    const fetch = fetchBy(this.client, LIMITS);
    this.fetch = (url) => fetch(url, { headers: { accept: 'application/json' } });
  }

  /**
   * Anyone can name a document, so each host receives at most 60 requests per minute, and at most 10 on behalf of one
   * address.
   */
  async allows(url: string, address: string): Promise<boolean> {
    const { hostname, host } = new URL(url);
    const isListed = this.hosts.some((listed) => listed === ANY_HOST || listed === hostname || listed === host);
    if (!isListed || (await this.ofAddresses.take(`${host} ${address}`)).isOver) return false;
    return !(await this.ofHosts.take(host)).isOver;
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
