<?php // What the middleware throttle does with the RateLimiter, without the rest of Laravel.
foreach (['Contracts', 'Collections', 'Macroable', 'Support', 'Container', 'Filesystem', 'Cache'] as $part) {
    require_once "/usr/share/php/Illuminate/$part/autoload.php";
}
$files = new Illuminate\Cache\FileStore(new Illuminate\Filesystem\Filesystem, getenv('STORE'));
$limiter = new Illuminate\Cache\RateLimiter(new Illuminate\Cache\Repository($files));
[$limit, $client] = [(int) getenv('LIMIT'), sha1($_SERVER['HTTP_X_API_KEY'] ?? $_SERVER['REMOTE_ADDR'])];
if ($limiter->tooManyAttempts($client, $limit)) {
    header('Retry-After: ' . $limiter->availableIn($client), true, 429);
    return;
}
$limiter->hit($client, (int) getenv('WINDOW'));
echo "ok\n";
