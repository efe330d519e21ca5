cat > notes.md <<'EOF'
it's $HOME
EOF
if [ -f a ]; then rm -rf build/{a,b}; fi