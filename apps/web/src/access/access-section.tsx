import { useData } from '../use-data.js';
import type { App, Key, Overview } from '../server-types.js';
import { ConnectionList } from './connection-list.js';
import { FirstRequest } from './first-request.js';
import { KeyList } from './key-list.js';
import { McpSettings } from './mcp-settings.js';
import { NewKeyCard } from './new-key-card.js';

/** Keys, connected programs, and how to begin with either. */
export function AccessSection({ overview }: { readonly overview: Overview }) {
  const keys = useData<{ readonly keys: readonly Key[]; readonly total: number }>('/keys');
  const apps = useData<{ readonly apps: readonly App[] }>('/apps');
  return (
    <>
      <NewKeyCard overview={overview} apps={apps} keysChanged={keys.reload} />
      <KeyList keys={keys} currency={overview.account.currency} />
      {overview.has_oauth ? <ConnectionList currency={overview.account.currency} /> : null}
      {overview.mcp_url === null ? null : <McpSettings url={overview.mcp_url} hasOAuth={overview.has_oauth} />}
      {overview.first_request === null ? null : (
        <FirstRequest baseUrl={overview.base_url} body={overview.first_request} />
      )}
    </>
  );
}
