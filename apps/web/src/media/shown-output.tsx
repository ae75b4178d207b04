import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import type { Output } from '../api-types.js';
import { ActionButton } from '../parts/buttons.js';
import { readable } from '../server.js';

interface ShownOutputProps {
  readonly output: Output;
  /** For those who do not see it; empty where a text beside it says it. */
  readonly alt: string;
  /** A picture of a list: without controls, and loaded when it comes into view. */
  readonly isPreview?: boolean;
  /** Its address may have expired: it lives an hour. */
  readonly onFault?: () => void;
}

/** A picture or a video, in the space that it will take. */
export function ShownOutput({ output, alt, isPreview = false, onFault }: ShownOutputProps) {
  const [isFaulty, setFaulty] = useState(false);
  useEffect(() => setFaulty(false), [output.url]);
  const fail = (): void => {
    setFaulty(true);
    onFault?.();
  };
  if (isFaulty) return <p class="no-media">It could not be loaded.</p>;
  const { width, height } = output;
  const url = readable(output.url);
  if (output.media_type === 'image')
    return (
      <img src={url} alt={alt} width={width} height={height} loading={isPreview ? 'lazy' : undefined} onError={fail} />
    );
  return isPreview ? (
    <VideoPreview output={output} alt={alt} onFault={fail} />
  ) : (
    // What is generated has no speech to caption.
    // oxlint-disable-next-line jsx-a11y/media-has-caption
    <video src={url} width={width} height={height} controls playsInline loop preload="metadata" onError={fail}>
      {alt}
    </video>
  );
}

/** The first frame, once it comes into view: browsers load no video lazily by themselves. */
function VideoPreview({ output, alt, onFault }: Required<Pick<ShownOutputProps, 'output' | 'alt' | 'onFault'>>) {
  const place = useRef<HTMLVideoElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!place.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <video
      ref={place}
      {...(isSeen ? { src: readable(output.url) } : {})}
      width={output.width}
      height={output.height}
      muted
      playsInline
      preload="metadata"
      aria-label={alt === '' ? undefined : alt}
      aria-hidden={alt === '' ? true : undefined}
      onError={() => {
        if (isSeen) onFault();
      }}
    />
  );
}

/** How long a browser may take to begin saving, in milliseconds. */
const KEPT_MS = 60_000;

/** Has the browser save bytes as a file. */
export function saveAs(bytes: Blob, filename: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

interface DownloadButtonProps {
  readonly output: Output;
  readonly filename: string;
  readonly label: string;
}

/** Saves an output. If another host stores it and does not let pages read it, the browser opens it instead. */
export function DownloadButton({ output: { url }, filename, label }: DownloadButtonProps) {
  const save = async (): Promise<void> => {
    try {
      const response = await fetch(readable(url));
      if (!response.ok) throw new Error(`It was answered with ${response.status}.`);
      const bytes = await response.blob();
      saveAs(bytes, `${filename}.${extensionOf(bytes.type)}`);
      announce('The file was saved.');
    } catch {
      window.open(url, '_blank', 'noopener');
    }
  };
  return (
    <ActionButton label={label} action={save}>
      Download
    </ActionButton>
  );
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

function extensionOf(mediaType: string): string {
  return EXTENSIONS[mediaType] ?? 'bin';
}
