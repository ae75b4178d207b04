import { dateText, dayText, numberText } from '../format.js';
import { ConfirmButton, Copyable } from '../parts/buttons.js';
import { Card, Loaded, Page, type PageProps, Row, Rows } from '../parts/parts.js';
import type { Connection } from '../server-types.js';
import { change } from '../server.js';
import { afterChange, useData } from '../use-data.js';
import { listText } from '../keys/keys-page.js';

/** Connected programs, and how to connect one. */
export function ConnectionsPage({ overview }: PageProps) {
  return (
    <Page title="Connections">
      <div class="stack">
        {overview.has_oauth ? <ConnectionList currency={overview.account.currency} /> : null}
        {overview.mcp_url === null ? null : <McpSettings url={overview.mcp_url} hasOAuth={overview.has_oauth} />}
      </div>
    </Page>
  );
}

/** The programs that people of the account have allowed to act for them. */
function ConnectionList({ currency }: { readonly currency: string }) {
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections');
  const said = afterChange(connections.reload, 'connections');
  return (
    <Card
      id="connections"
      title="Connected programs"
      note="Programs that people of this account have allowed to act for them. Everybody in the account sees these; only you can disconnect yours."
    >
      <Loaded data={connections} what="connected programs">
        {({ connections: shown }) => (
          <Rows
            items={shown}
            empty="No program is connected. One that knows the address of this service brings you here to ask."
          >
            {(connection) => <ConnectionRow key={connection.id} shown={connection} currency={currency} said={said} />}
          </Rows>
        )}
      </Loaded>
    </Card>
  );
}

interface ConnectionRowProps {
  readonly shown: Connection;
  readonly currency: string;
  readonly said: (sentence: string) => Promise<void>;
}

function ConnectionRow({ shown, currency, said }: ConnectionRowProps) {
  const { client_name: name, client_host: host, cap, used, is_own: isOwn } = shown;
  const usedText =
    cap === null ? 'no limit but the balance' : `${numberText(used ?? 0)} of ${numberText(cap)} ${currency}`;
  return (
    <Row
      title={name}
      badge={host ?? undefined}
      actions={
        isOwn ? (
          <ConfirmButton
            label="Disconnect"
            fullLabel={`Disconnect ${name}`}
            question={`Disconnect “${name}”?`}
            consequence="It is refused within seconds, and has to ask you again. What it made stays in the account."
            doIt="Disconnect it"
            action={() => change(`/connections/${shown.id}/disconnect`)}
            done={() => said(`${name} is disconnected.`)}
          />
        ) : null
      }
      facts={[
        ['Connected by', isOwn ? `${shown.connected_by} (you)` : shown.connected_by],
        ['Uses', shown.audience === 'mcp' ? 'the tools (MCP)' : 'the API'],
        ['Connected', dateText(shown.created_at)],
        ['Last used', shown.last_used_on === null ? 'never' : dayText(shown.last_used_on)],
        ['Spent', usedText],
        ['May', listText(shown.may)],
      ]}
    />
  );
}

/** How assistants and editors reach the tools. */
function McpSettings({ url, hasOAuth }: { readonly url: string; readonly hasOAuth: boolean }) {
  const note = hasOAuth
    ? 'Most assistants and editors that speak MCP need this address alone; they bring you here to ask for access.'
    : 'An assistant or editor that speaks MCP needs this address, and an API key as its bearer token.';
  const keyOption = hasOAuth ? '' : ` --header "Authorization: ${bearer('$DARKROOM_API_KEY')}"`;
  return (
    <Card id="mcp" title="MCP server" note={note}>
      <h3>Address</h3>
      <Copyable text={url} what="the address of the MCP server" />
      <h3>Claude Code</h3>
      <Copyable
        text={`claude mcp add --transport http darkroom ${url}${keyOption}`}
        what="the command for Claude Code"
      />
      <h3>
        Visual Studio Code, in <code>.vscode/mcp.json</code>
      </h3>
      <Copyable
        text={json(hasOAuth ? { servers: { darkroom: { type: 'http', url } } } : codeSettingsWithKey(url))}
        what="the settings for Visual Studio Code"
      />
      <h3>
        Cursor, in <code>.cursor/mcp.json</code>
      </h3>
      <p>Cursor needs an API key, here in the environment variable DARKROOM_API_KEY.</p>
      <Copyable
        text={json({
          mcpServers: { darkroom: { url, headers: { Authorization: bearer('${env:DARKROOM_API_KEY}') } } },
        })}
        what="the settings for Cursor"
      />
    </Card>
  );
}

const bearer = (key: string): string => `Bearer ${key}`;

/** Visual Studio Code asks for the key when it first connects. */
function codeSettingsWithKey(url: string): object {
  const id = 'darkroom-key';
  return {
    inputs: [{ type: 'promptString', id, description: 'Darkroom API key', password: true }],
    servers: { darkroom: { type: 'http', url, headers: { Authorization: bearer(`\${input:${id}}`) } } },
  };
}

function json(settings: object): string {
  return JSON.stringify(settings, null, 2);
}
