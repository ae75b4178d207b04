import { Card } from '../parts/card.js';
import { Copyable } from '../parts/copyable.js';

interface McpSettingsProps {
  readonly url: string;
  readonly hasOAuth: boolean;
}

/** How assistants and editors reach the tools. */
export function McpSettings({ url, hasOAuth }: McpSettingsProps) {
  const note = hasOAuth
    ? 'An assistant or editor that speaks MCP needs this address alone; it brings you here to ask for access.'
    : 'An assistant or editor that speaks MCP needs this address, and an API key as its bearer token.';
  return (
    <Card id="mcp" title="MCP server" note={note}>
      <h3>Address</h3>
      <Copyable text={url} what="the address of the MCP server" />
      <h3>Claude Code</h3>
      <Copyable text={`claude mcp add --transport http darkroom ${url}`} what="the command for Claude Code" />
      <h3>
        Visual Studio Code, in <code>.vscode/mcp.json</code>
      </h3>
      <Copyable
        text={json({ servers: { darkroom: { type: 'http', url } } })}
        what="the settings for Visual Studio Code"
      />
      <h3>
        Cursor, in <code>.cursor/mcp.json</code>
      </h3>
      <Copyable text={json({ mcpServers: { darkroom: { url } } })} what="the settings for Cursor" />
    </Card>
  );
}

function json(settings: object): string {
  return JSON.stringify(settings, null, 2);
}
