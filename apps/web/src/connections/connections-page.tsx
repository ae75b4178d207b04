import { dateText } from '../format.js';
import { ask } from '../parts/ask.js';
import { Button } from '../parts/buttons.js';
import { Badge, Empty, Limit, Page, type PageProps } from '../parts/parts.js';
import { ScopeTags } from '../parts/scope-tags.js';
import { type Column, Named, TableCard } from '../parts/table.js';
import { Expiry, UsedOn } from '../parts/times.js';
import type { Connection } from '../server-types.js';
import { change } from '../server.js';
import { afterChange, useData } from '../use-data.js';
import { McpCard } from './mcp-card.js';

/** How to connect a program, and those that are connected. */
export function ConnectionsPage({ overview: { mcp_url: url, has_oauth: hasOAuth } }: PageProps) {
  return (
    <Page
      title="Connections"
      lead="Assistants and editors use this account through the tools of the MCP server, and other programs through the API. What they create stays in the account when they are disconnected."
    >
      {url === null ? null : <McpCard url={url} hasOAuth={hasOAuth} />}
      {hasOAuth ? <Connections hasMcp={url !== null} /> : null}
    </Page>
  );
}

/** The programs that people of the account have allowed to act for them. */
function Connections({ hasMcp }: { hasMcp: boolean }) {
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections');
  const said = afterChange(connections.reload, 'connections');
  const disconnect = ({ id, client_name: name }: Connection): void =>
    ask({
      title: `Disconnect “${name}”?`,
      text: 'The program is refused within 5 seconds, and has to ask you for access again. What it created stays in the account.',
      doIt: 'Disconnect',
      busyText: 'Disconnecting…',
      act: () => change(`/connections/${id}/disconnect`),
      done: () => said(`${name} is disconnected.`),
    });
  const next = hasMcp
    ? 'Add the MCP address to Claude, Cursor or another client.'
    : 'A program that asks for access to this account leads you here.';
  return (
    <TableCard
      id="connections"
      title="Connected programs"
      data={connections}
      what="connected programs"
      items={connections.value?.connections}
      idOf={({ id }) => id}
      columns={COLUMNS}
      acts={(one) =>
        one.is_own ? (
          <Button
            kind="danger"
            isSmall
            icon="unplug"
            label={`Disconnect ${one.client_name}`}
            onClick={() => disconnect(one)}
          >
            Disconnect…
          </Button>
        ) : null
      }
      empty={<Empty icon="plug" title="No connections yet" text={next} />}
    />
  );
}

const COLUMNS: readonly Column<Connection>[] = [
  [
    'Program',
    (one) => <Named note={one.client_host ?? 'The name is the program’s own claim'}>{one.client_name}</Named>,
  ],
  [
    'Connected by',
    (one) => (
      <span>
        {one.connected_by} {one.is_own ? <Badge look="plain">You</Badge> : null}
        <small>{dateText(one.created_at)}</small>
      </span>
    ),
  ],
  ['Uses', ({ audience }) => (audience === 'mcp' ? 'Tools (MCP)' : 'API')],
  [
    'Scopes',
    ({ scopes, may }) => <ScopeTags scopes={scopes} textOf={(scope) => may[scopes.indexOf(scope)] ?? scope} />,
  ],
  ['Last used', (one) => <UsedOn day={one.last_used_on} />],
  ['Spent', ({ used, cap }) => <Limit used={used} max={cap} />],
  ['Expires', (one) => <Expiry at={one.expires_at} />],
];
