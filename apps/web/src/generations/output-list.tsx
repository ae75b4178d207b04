import { useRef } from 'preact/hooks';
import type { Task } from '../api-types.js';
import { DownloadButton } from '../media/download-button.js';
import { ShownOutput } from '../media/shown-output.js';
import { isOpen } from './task-text.js';

interface OutputListProps {
  readonly task: Task;
  /** Reads the task again, whose addresses are then new. */
  readonly reload: () => Promise<void>;
}

/** What was made, each with a way to save it. */
export function OutputList({ task, reload }: OutputListProps) {
  const { outputs, modality, generation_id: id } = task;
  const tried = useRef(new Set<string>());
  // An address lives an hour: what does not load is asked for again, once.
  const again = (url: string): void => {
    const isFirst = !tried.current.has(new URL(url).pathname);
    tried.current.add(new URL(url).pathname);
    if (isFirst) void reload();
  };
  if (outputs.length === 0)
    return isOpen(task) || task.error !== undefined ? null : <p class="empty">There is nothing to show.</p>;
  const kind = modality === 'video' ? 'Video' : 'Picture';
  return (
    <ul class="outputs">
      {outputs.map((output, index) => {
        const name = outputs.length === 1 ? kind : `${kind} ${index + 1} of ${outputs.length}`;
        return (
          <li key={output.media_id}>
            <ShownOutput output={output} alt={`${name}, by ${task.model_key}`} onFault={() => again(output.url)} />
            <div class="output-text">
              <span class="quiet">{sizeText(output)}</span>
              <DownloadButton
                output={output}
                filename={`${id}-${index + 1}`}
                label={`Download ${name.toLowerCase()}`}
              />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function sizeText({ width, height, duration_ms: duration }: Task['outputs'][number]): string {
  const size = width === undefined || height === undefined ? '' : `${width} × ${height}`;
  return duration === undefined ? size : `${size}, ${(duration / 1_000).toFixed(1)} s`;
}
