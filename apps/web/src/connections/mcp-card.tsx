import type { ComponentChildren } from 'preact';
import { Copyable } from '../parts/buttons.js';
import { Card, PlaceLink } from '../parts/parts.js';
import { Tabs } from '../parts/tabs.js';
import { changeQuery, place } from '../places.js';

interface McpProps {
  readonly url: string;
  /** Clients sign in with OAuth; without it they need a key. */
  readonly hasOAuth: boolean;
}

interface Client {
  readonly name: string;
  readonly title: string;
  readonly isOffered?: (props: McpProps) => boolean;
  readonly steps: (props: McpProps) => ComponentChildren;
}

/** The clients that `docs/mcp.md` describes. */
const CLIENTS: readonly Client[] = [
  { name: 'claude-code', title: 'Claude Code', steps: claudeCode },
  // Its connectors take no key.
  { name: 'claude', title: 'Claude', isOffered: ({ hasOAuth }) => hasOAuth, steps: claude },
  { name: 'cursor', title: 'Cursor', steps: cursor },
  { name: 'vscode', title: 'VS Code', steps: codeEditor },
  { name: 'other', title: 'Other clients', steps: other },
];

/** The address of the MCP server, and how each client takes it. The selected client is in the address. */
export function McpCard(props: McpProps) {
  const offered = CLIENTS.filter(({ isOffered }) => isOffered?.(props) ?? true);
  const selected = offered.find(({ name }) => name === place.value.query['client']) ?? offered[0];
  if (selected === undefined) return null;
  return (
    <Card
      id="mcp"
      title="MCP server"
      note={
        props.hasOAuth
          ? 'A client needs this address alone: it leads you to sign in.'
          : 'A client needs this address and an API key.'
      }
    >
      <Copyable text={props.url} what="the address of the MCP server" isWrapped />
      <div>
        <Tabs
          label="Client"
          tabs={offered}
          selected={selected.name}
          select={(client) => changeQuery({ client })}
          panel="mcp-client"
        />
        <div id="mcp-client" class="client stack-s" role="tabpanel" aria-label={selected.title}>
          {selected.steps(props)}
        </div>
      </div>
    </Card>
  );
}

function claudeCode({ url, hasOAuth }: McpProps) {
  const keyOption = hasOAuth ? '' : ` --header "Authorization: ${bearer('$DARKROOM_API_KEY')}"`;
  return (
    <>
      {hasOAuth ? (
        <p>
          Run this in a terminal. Then <code>/mcp</code> inside Claude Code opens the sign-in page.
        </p>
      ) : (
        <KeyNote>Run this in a terminal, with an API key in</KeyNote>
      )}
      <Copyable
        text={`claude mcp add --transport http darkroom ${url}${keyOption}`}
        what="the command for Claude Code"
        isWrapped
      />
    </>
  );
}

function claude({ url }: McpProps) {
  return (
    <>
      <p>
        On the web or in the desktop application: open the settings, choose Connectors, add a custom connector, and
        paste the address above.
      </p>
      {isPrivate(url) ? (
        <p class="muted">
          Claude connects from the internet, which can’t reach {new URL(url).host}. The operator can give the service a
          public address with HTTPS.
        </p>
      ) : null}
    </>
  );
}

function cursor({ url }: McpProps) {
  return (
    <>
      <KeyNote>
        Write this to <code>.cursor/mcp.json</code>. Cursor needs an API key, here from the variable
      </KeyNote>
      <Copyable
        text={json({
          mcpServers: { darkroom: { url, headers: { Authorization: bearer('${env:DARKROOM_API_KEY}') } } },
        })}
        what="the settings for Cursor"
      />
    </>
  );
}

function codeEditor({ url, hasOAuth }: McpProps) {
  return (
    <>
      <p>
        Write this to <code>.vscode/mcp.json</code>. The editor{' '}
        {hasOAuth ? 'opens the sign-in page' : 'asks for an API key'} when it first connects.
      </p>
      <Copyable
        text={json(hasOAuth ? { servers: { darkroom: { type: 'http', url } } } : codeSettingsWithKey(url))}
        what="the settings for VS Code"
      />
    </>
  );
}

/** The version of `mcp-remote` that the project is tested with, as `docs/mcp.md` has it. */
const MCP_REMOTE = 'mcp-remote@0.15.1';

function other({ url, hasOAuth }: McpProps) {
  return (
    <>
      <p>
        Any client of the Model Context Protocol takes the address, with the transport “Streamable HTTP”.{' '}
        {hasOAuth ? 'Most lead you to the sign-in page. Others send' : 'Let it send'} an API key as{' '}
        <code>Authorization: Bearer …</code>.
      </p>
      {hasOAuth ? (
        <>
          <p>A client that only starts programs takes these settings:</p>
          <Copyable
            text={json({
              mcpServers: {
                darkroom: { command: 'npx', args: ['-y', MCP_REMOTE, url, '--transport', 'http-only'] },
              },
            })}
            what="the settings for other clients"
          />
        </>
      ) : null}
    </>
  );
}

/** Where the key comes from. A model decides what it spends. */
function KeyNote({ children }: { readonly children: ComponentChildren }) {
  return (
    <p>
      {children} <code>DARKROOM_API_KEY</code>.{' '}
      <PlaceLink page="keys" query={{ new: '1' }}>
        Create a key
      </PlaceLink>{' '}
      with a monthly limit, since a model decides what to create.
    </p>
  );
}

const bearer = (key: string): string => `Bearer ${key}`;

/** VS Code asks for the key when it first connects. */
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

/** Whether others than this computer or its network can’t reach an address. */
function isPrivate(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol !== 'https:' || /^(localhost|127\.|10\.|192\.168\.|\[)/.test(hostname);
}
