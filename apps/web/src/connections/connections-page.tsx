import { Plug, Unplug } from 'lucide-preact';
import { dateText } from '../format.js';
import { ConfirmButton } from '../parts/buttons.js';
import { Badge, Card, Empty, Limit, Loaded, Page, type PageProps } from '../parts/parts.js';
import { ScopeTags } from '../parts/scope-tags.js';
import { Table } from '../parts/table.js';
import { Expiry, UsedOn } from '../parts/times.js';
import type { Connection } from '../server-types.js';
import { change } from '../server.js';
import { afterChange, useData } from '../use-data.js';
import { McpCard } from './mcp-card.js';

/** How to connect a program, and those that are connected. */
export function ConnectionsPage({ overview: { mcp_url: url, has_oauth: hasOAuth } }: PageProps) {
  return (
    <Page title="Connections">
      <div class="stack">
        <div class="page-head">
          <p>
            Assistants and editors use this account through the tools of the MCP server, and other programs through the
            API. What they create stays in the account when they are disconnected.
          </p>
        </div>
        {url === null ? null : <McpCard url={url} hasOAuth={hasOAuth} />}
        {hasOAuth ? <Connections hasMcp={url !== null} /> : null}
      </div>
    </Page>
  );
}

/** The programs that people of the account have allowed to act for them. */
function Connections({ hasMcp }: { readonly hasMcp: boolean }) {
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections');
  const said = afterChange(connections.reload, 'connections');
  return (
    <Card id="connections" title="Connected programs" isFlush>
      <Loaded data={connections} what="connected programs" skeleton={<div class="body skeleton row-line" />}>
        {({ connections: shown }) =>
          shown.length === 0 ? (
            <Empty
              icon={Plug}
              title="No connections yet"
              text={
                hasMcp
                  ? 'Add the MCP address to Claude, Cursor or another client.'
                  : 'A program that asks for access to this account leads you here.'
              }
            />
          ) : (
            <ConnectionTable shown={shown} said={said} />
          )
        }
      </Loaded>
    </Card>
  );
}

interface ConnectionTableProps {
  readonly shown: readonly Connection[];
  readonly said: (sentence: string) => Promise<void>;
}

function ConnectionTable({ shown, said }: ConnectionTableProps) {
  return (
    <Table
      labelledBy="connections"
      columns={['Program', 'Connected by', 'Uses', 'Scopes', 'Last used', 'Spent', 'Expires']}
      hasActs
      items={shown}
    >
      {(connection) => <ConnectionRow key={connection.id} shown={connection} said={said} />}
    </Table>
  );
}

interface ConnectionRowProps {
  readonly shown: Connection;
  readonly said: (sentence: string) => Promise<void>;
}

function ConnectionRow({ shown, said }: ConnectionRowProps) {
  const { client_name: name, client_host: host, scopes, is_own: isOwn } = shown;
  return (
    <tr>
      <th scope="row">
        <span class="named">{name}</span>
        <small>{host ?? 'The name is the program’s own claim'}</small>
      </th>
      <td data-name="Connected by">
        <span>
          {shown.connected_by} {isOwn ? <Badge look="plain">You</Badge> : null}
          <small>{dateText(shown.created_at)}</small>
        </span>
      </td>
      <td data-name="Uses">{shown.audience === 'mcp' ? 'Tools (MCP)' : 'API'}</td>
      <td data-name="Scopes">
        <ScopeTags scopes={scopes} textOf={(scope) => shown.may[scopes.indexOf(scope)] ?? scope} />
      </td>
      <td data-name="Last used">
        <UsedOn day={shown.last_used_on} />
      </td>
      <td data-name="Spent">
        <Limit used={shown.used} max={shown.cap} />
      </td>
      <td data-name="Expires">
        <Expiry at={shown.expires_at} />
      </td>
      <td class="row-act">
        {isOwn ? (
          <ConfirmButton
            label="Disconnect…"
            icon={Unplug}
            fullLabel={`Disconnect ${name}`}
            question={`Disconnect “${name}”?`}
            consequence="The program is refused within 5 seconds, and has to ask you for access again. What it created stays in the account."
            doIt="Disconnect"
            busyText="Disconnecting…"
            action={() => change(`/connections/${shown.id}/disconnect`)}
            done={() => said(`${name} is disconnected.`)}
          />
        ) : null}
      </td>
    </tr>
  );
}
